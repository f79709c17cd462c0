import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeIn, written } from '../src/location'

test('a place is read as it was written', () => {
  for (const place of [{ workspace: 'w1', plan: '', pane: 'plan', step: 0 }, { workspace: 'a b&c=#', plan: 'p-1&2', pane: 'difference', step: 12 }] as const)
    assert.deepEqual(placeIn(written(place)), place)
})

test('what is no place is none', () => {
  for (const hash of ['', '#', '#main', '#enter=abc', '#enter=abc&workspace=w1']) assert.equal(placeIn(hash), undefined)
  assert.deepEqual(placeIn('#workspace=w1&view=elsewhere&step=-1'), { workspace: 'w1', plan: '', pane: 'plan', step: 0 })
})
