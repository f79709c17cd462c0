import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOfLink } from '../src/http'
import { placeIn, written } from '../src/location'

test('a place is read as it was written', () => {
  for (const place of [{ workspace: 'w1', plan: '', pane: 'plan', step: 0 }, { workspace: 'a b&c=#', plan: 'p-1&2', pane: 'difference', step: 12 }] as const)
    assert.deepEqual(placeIn(written(place)), place)
})

test('what is no place is none', () => {
  for (const hash of ['', '#', '#main', '#enter=abc', '#enter=abc&workspace=w1']) assert.equal(placeIn(hash), undefined)
  assert.deepEqual(placeIn('#workspace=w1&view=elsewhere&step=-1'), { workspace: 'w1', plan: '', pane: 'plan', step: 0 })
})

test('a link leaves its place behind, but not its code', () => {
  const hashes = { '#enter=abc': '', '#enter=abc&workspace=shop-1%2Fcalm': '#workspace=shop-1%2Fcalm', '#workspace=w1': '#workspace=w1', '': '' }
  for (const [link, place] of Object.entries(hashes)) assert.equal(placeOfLink(link), place)
})
