import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gaps, next } from '../src/order'
import { tangle } from './plans'

const steps = [
  { number: 1, title: 'a' }, { number: 2, title: 'b', depends_on: [1] }, { number: 3, title: 'c' },
  { number: 4, title: 'd', depends_on: [2] }, { number: 5, title: 'e' },
]
const allowed = (moved: number) => gaps(steps, moved).filter(gap => !gap.why).map(gap => gap.after)

test('a step stays between what it waits for and what waits for it', () => {
  assert.deepEqual(allowed(2), [1, 3])
  assert.deepEqual(allowed(1), [0])
  assert.deepEqual(allowed(3), [0, 1, 2, 4, 5])
  assert.deepEqual(allowed(4), [2, 3, 5])
})

test('a place that is not allowed says why', () => {
  assert.deepEqual(gaps(steps, 2).map(gap => gap.why), ['2 waits for 1', '', '', '4 waits for 2', '4 waits for 2'])
})

test('up and down, with the place where it stands', () => {
  assert.deepEqual(next(steps, 3, -1), { after: 1, why: '', here: false })
  assert.deepEqual(next(steps, 2, -1), { after: 0, why: '2 waits for 1', here: false })
  assert.equal(next(steps, 5, 1), undefined)
  assert.equal(next(steps, 1, -1), undefined)
  assert.deepEqual(gaps(steps, 99), [])
})

test('exactly the places after which every step stands behind all it waits for are allowed', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const plan = tangle(24, seed).map(({ n, after }) => ({ number: n, title: '', depends_on: after }))
    for (const { number } of plan) {
      for (const gap of gaps(plan, number)) {
        const rest = plan.filter(s => s.number !== number)
        rest.splice(rest.findIndex(s => s.number === gap.after) + 1, 0, plan.find(s => s.number === number)!)
        const sound = rest.every((s, i) => s.depends_on.every(d => rest.findIndex(o => o.number === d) < i))
        assert.equal(!gap.why, sound, `${number} behind ${gap.after}`)
      }
    }
  }
})
