import assert from 'node:assert/strict'
import { test } from 'node:test'
import { begun, isGone, quoted } from '../src/passage'
import type { Step } from '../src/types'

const at = { left: 0, top: 0 }
const step = (details: string): Step => ({ id: 'S003', number: 3, title: 'Read', status: 'pending', details })

test('a passage is quoted in one line', () => {
  assert.equal(quoted(' read\n 200  "ms" '), "read 200 'ms'")
  assert.equal(quoted('word '.repeat(60)).at(-1), '…')
  assert.ok(quoted('word '.repeat(60)).length <= 160)
})

test('a comment finds its passage again, or says that it is gone', () => {
  const quote = quoted('read **200** "ms"\nat most')
  for (const how of ['comment', 'suggest', 'remove'] as const) {
    const text = begun(how, { step: 3, field: 'details', quote, at })
    assert.equal(isGone(text, step('Always read **200**\n"ms" at most.')), false, text)
    assert.equal(isGone(text, step('Always read 300 ms at most.')), true, text)
    assert.equal(isGone(text, undefined), false)
  }
  assert.equal(isGone('details are thin', step('')), false)
})
