import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extent, inWords, stretches } from '../src/timeline'
import type { TimelineStep } from '../src/types'

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 29) + seconds * 1000).toISOString(), ms = (seconds: number) => Date.parse(at(seconds))
const step = (parts: TimelineStep['parts'], tokens?: number): TimelineStep => ({ step_id: 'S001', title: 'Build it', parts, ...(tokens && { tokens }) })

test('work that continues lasts until now, waiting does not', () => {
  const running = step([{ kind: 'running', from: at(10) }]), waiting = step([{ kind: 'waiting', from: at(0) }])
  assert.deepEqual(extent([waiting, running], ms(100)), [ms(0), ms(100)])
  assert.deepEqual(extent([waiting], ms(100)), [ms(0), ms(0) + 1])
})

test('a short attempt stays visible at the end, and failed ones are drawn last', () => {
  const all = stretches([{ kind: 'failed', from: at(100), to: at(100) }, { kind: 'waiting', from: at(0), to: at(50) }, { kind: 'running', from: at(50) }], ms(0), ms(100))
  assert.deepEqual(all.map(s => s.kind), ['waiting', 'running', 'failed'])
  assert.deepEqual(all[0], { kind: 'waiting', at: 0, long: 500 })
  assert.deepEqual(all[1], { kind: 'running', at: 500, long: 500 })
  assert.ok(all[2]!.long >= 4 && all[2]!.at + all[2]!.long <= 1000)
})

test('the words tell the attempts, the waiting and the tokens', () => {
  const retried = step([{ kind: 'waiting', from: at(0), to: at(5) }, { kind: 'failed', from: at(5), to: at(65) }, { kind: 'running', from: at(65), to: at(125) }], 12345)
  assert.equal(inWords(retried, ms(200)), 'ran 2 min, 1 attempt failed, waited 5 s, 12,345 tokens')
  assert.equal(inWords(step([{ kind: 'running', from: at(0) }]), ms(200)), 'running 3 min')
})
