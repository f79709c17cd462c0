import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../src/whole'
import type { Plan, Step, View } from '../src/types'

const step = (id: string, title: string) => ({ id, title }) as Step
const view = (steps: Step[], more: Partial<Plan> = {}) => ({ plan: { id: 'p', steps, ...more } }) as View

test('a view with only the changed steps gets the others from the known one', () => {
  const known = view([step('S001', 'a'), step('S002', 'b'), step('S003', 'c')])
  const got = whole(view([step('S002', 'B')], { only_changed: true }), known)
  assert.deepEqual(got.plan!.steps.map(s => s.title), ['a', 'B', 'c'])
  assert.equal(got.plan!.steps[0], known.plan!.steps[0])
  assert.ok(!('only_changed' in got.plan!))
})

test('the draft is filled in the same way, and a whole view stays as it is', () => {
  const of = (steps: Step[], more: Partial<Plan> = {}) => ({ draft: { plan: { id: 'd', steps, ...more } } }) as View
  assert.deepEqual(whole(of([], { only_changed: true }), of([step('S001', 'a')])).draft!.plan.steps.map(s => s.title), ['a'])
  assert.deepEqual(whole(view([step('S001', 'x')]), view([step('S001', 'a'), step('S002', 'b')])).plan!.steps.map(s => s.title), ['x'])
})
