import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shared } from '../src/shared'

const view = () => ({
  revision: 1, plan: { objective: 'a', steps: [{ id: 'S001', paths: ['x'], criteria: [{ text: 'c' }] }, { id: 'S002', paths: [] as string[] }] }, none: null,
})

test('what says the same is the same', () => {
  const before = view()
  assert.equal(shared(before, view()), before)
})

test('only what has changed is another', () => {
  const before = view(), now = view()
  now.plan.steps[1]!.paths.push('y')
  const got = shared(before, now)
  assert.deepEqual(got.plan.steps[1], { id: 'S002', paths: ['y'] })
  assert.notEqual(got, before)
  assert.notEqual(got.plan, before.plan)
  assert.equal(got.plan.steps[0], before.plan.steps[0])
})

test('an entry that moved stays itself', () => {
  const before = view(), now = view()
  now.plan.steps.unshift({ id: 'S003', paths: [] })
  const got = shared(before, now)
  assert.equal(got.plan.steps[1], before.plan.steps[0])
  assert.equal(got.plan.steps[2], before.plan.steps[1])
  assert.deepEqual(got.plan.steps.map(s => s.id), ['S003', 'S001', 'S002'])
})

test('what came, went, or became something else is told', () => {
  for (const [before, now] of [[{ a: 1 }, {}], [{}, { a: undefined }], [[1, 2], [1]], [[1], [1, 2]], [{ a: null }, { a: {} }], [{ a: [] }, { a: {} }], [[], {}]] as [object, object][]) {
    const wanted = structuredClone(now), got = shared(before, now)
    assert.deepEqual(got, wanted)
    assert.notEqual(got, before)
  }
})
