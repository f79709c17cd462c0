import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostName } from '../src/ui/format'
import { doing, lastLine } from '../src/ui/live'
import type { Step } from '../src/types'

const now = Date.UTC(2026, 10, 29), started_at = new Date(now - 120_000).toISOString()
const step = (more: Partial<Step>) => ({ id: 'S001', number: 1, title: 'Test it', status: 'in_progress', started_at, ...more }) as Step

test('work is told by whom, since when, and what', () => {
  assert.equal(doing(step({ claimed_by: 'claude-code', tool: 'bash_execute', args: '{"command": "go test\\nexit"}' }), undefined, now), 'Claude Code · 2 min · running go test')
  assert.equal(doing(step({ agent: 'codex', notes: ['first', 'reading\nmore'] }), { percent: 0 }, now), 'Codex · 2 min · reading')
  assert.equal(doing(step({ claimed_by: 'ann', tool: 'fetch', args: 'not JSON' }), { percent: 40 }, now), 'ann · 2 min · 40 % · running fetch')
  assert.equal(doing(step({}), { what: 'copying' }, now, true), 'started 2 min ago · copying')
})

test('people read names of programs', () => {
  assert.deepEqual(['claude-code#a9dcbf', 'engine#k3j4h5g6', 'ann', 'engine', 'x#1'].map(n => hostName(n)), ['Claude Code (a9dcbf)', 'planloop', 'ann', 'engine', 'x#1'])
})

test('the last line of an output is its last text', () => assert.equal(lastLine('a\n  b \n\n'), 'b'))
