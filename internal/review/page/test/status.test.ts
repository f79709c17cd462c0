import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standing } from '../src/status.ts'
import type { Run, Step } from '../src/types.ts'

const run = (state: Run['state'], reason?: Run['reason']) => ({ id: 'X1', state, reason, by: 'ann', since: '', steps: [] }) as Run
const step = (number: number, status: Step['status'], asks?: 'now' | 'early') =>
  ({ number, status, ...(asks && { ask: { kind: 'approval', choices: [], early: asks === 'early' } }) }) as unknown as Step

test('the line for a run gives its state and its cause', () => {
  const done = step(1, 'done'), table: [Run, Step[], string][] = [
    [run('none'), [step(1, 'pending')], 'No run yet'],
    [run('running'), [done, step(2, 'in_progress'), step(3, 'pending', 'now')], 'The run continues. 1 of 3 steps is done'],
    [run('running'), [done, step(2, 'failed'), step(3, 'pending', 'now')], 'The run is waiting for you. 1 of 3 steps is done, 1 failed'],
    [run('running'), [step(1, 'pending'), step(2, 'pending', 'early')], 'The run continues. 0 of 2 steps are done'],
    [run('paused', 'paused'), [done], 'The run is paused. 1 of 1 steps is done'],
    [run('paused', 'failed'), [done, step(2, 'failed')], 'The run is stuck: step 2 failed. 1 of 2 steps is done'],
    [run('paused', 'deadlocked'), [done, step(2, 'failed'), step(3, 'failed')], 'The run is stuck: steps 2 and 3 failed. 1 of 3 steps is done'],
    [run('paused', 'failed'), [done, step(2, 'pending')], 'The run is paused. 1 of 2 steps is done'],
    [run('interrupted'), [step(1, 'in_progress')], 'The run was interrupted: its engine has ended. 0 of 1 steps are done'],
    [run('over', 'completed'), [done], 'The run is complete. 1 of 1 steps is done'],
    [run('over', 'cancelled'), [done, step(2, 'pending')], 'The run has ended. 1 of 2 steps is done'],
  ]
  for (const [r, steps, want] of table) assert.equal(standing(r, steps), want)
})
