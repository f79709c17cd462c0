import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counterpart, rows, summary } from '../src/difference'
import type { Difference, Step, StepChange } from '../src/types'

const step = (number: number) => ({ id: `S00${number}`, number, title: `step ${number}`, status: 'pending' }) as Step
const change = (id: number, kind: StepChange['change'], was?: number): StepChange =>
  ({ id: `S00${id}`, ...(was && { was: `S00${was}` }), title: '', change: kind, fields: kind === 'changed' ? [{ field: 'risk', label: 'risk', was: [], now: ['low'] }] : [] })
const differing = (...steps: StepChange[]): Difference => ({ from: { id: 'p', version: 1, at: '' }, plan: [], steps })

test('a difference in a line', () => {
  assert.equal(summary(differing(change(1, 'changed'), change(2, 'changed'), change(3, 'added'), change(4, 'moved'), change(5, 'removed'))),
    '2 steps changed, 1 added, 1 removed, 1 moved')
  assert.equal(summary(differing(change(3, 'added'))), '1 step added')
  assert.equal(summary(differing()), 'Nothing has changed')
  assert.equal(summary({ ...differing(), plan: [{ field: 'objective', label: '', was: ['a'], now: ['b'] }] }), 'No step has changed')
})

test('what was removed stands where it stood', () => {
  const d = differing(change(2, 'changed'), change(5, 'added'), change(3, 'removed'), change(1, 'removed'))
  const shown = (all: boolean) => rows(d, [step(2), step(5), step(4)], all).map(r => `${r.change?.change ?? 'same'} ${r.step?.number ?? r.change?.id}`)
  assert.deepEqual(shown(true), ['removed S001', 'changed 2', 'removed S003', 'added 5', 'same 4'])
  assert.deepEqual(shown(false), ['removed S001', 'changed 2', 'removed S003', 'added 5'])
})

test('a step that something was said about is shown with what changed', () => {
  const d = differing(change(2, 'changed'))
  assert.deepEqual(rows(d, [step(1), step(2), step(3)], false, new Set([0, 3])).map(r => r.step?.number), [2, 3])
})

test('a step that was renumbered counts by its former number', () => {
  const d = differing(change(1, 'moved', 3), change(2, 'removed'))
  assert.deepEqual(rows(d, [step(1)], true).map(r => r.change?.change), ['removed', 'moved'])
})

test('a step that only got another number has not changed', () => {
  const d = differing({ ...change(2, 'changed', 1), fields: [] }, change(1, 'added'))
  assert.equal(summary(d), '1 step added')
  assert.deepEqual(rows(d, [step(1), step(2)], false).map(r => r.step?.number), [1])
})

test('what is half written goes along with its step', () => {
  const plan = (...titles: string[]) => titles.map((title, i) => ({ ...step(i + 1), title }))
  const was = plan('read', 'write', 'test')
  for (const [what, now, d, want] of [
    ['one came before it', plan('read', 'measure', 'write', 'test'), undefined, 3],
    ['it was reworded', plan('read', 'write well', 'test'), undefined, 2],
    ['it was reworded and one came before it', plan('read', 'measure', 'write well', 'test'), differing(change(2, 'added'), change(3, 'changed', 2)), 3],
    ['it was replaced', plan('read', 'measure', 'test'), differing(change(2, 'added'), change(2, 'removed')), undefined],
    ['it went', plan('read', 'test'), undefined, undefined],
    ['it moved', plan('write', 'read', 'test'), undefined, 1],
  ] as const) assert.equal(counterpart(was[1]!, was, now as Step[], d)?.number, want, what)
  const twice = plan('read', 'read')
  assert.equal(counterpart(twice[1]!, twice, twice)?.number, 2, 'two of one title')
})
