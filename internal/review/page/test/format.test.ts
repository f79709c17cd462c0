import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, beyond, moment, sentence } from '../src/ui/format'

test('a sentence begins with a capital, a name stays as it is', () => {
  const names = new Set(['claude-code', 'ann'])
  for (const [text, want] of [
    ['the plan is approved', 'The plan is approved.'], ['ann works on S001', 'ann works on S001.'], ['claude-code: done', 'claude-code: done.'],
    ['annotations follow', 'Annotations follow.'], ['marked done: "as planned."', 'Marked done: "as planned."'], ['is it?', 'Is it?'], ['', ''],
  ] as const) assert.equal(sentence(text, names), want)
})

test('a summary says what the objective has not said', () => {
  for (const [summary, want] of [
    ['Sign in with passkeys', ''], ['Sign in with passkeys. ', ''], ['Sign in with passkeys. Passwords stay.', 'Passwords stay.'],
    ['Sign in with passkeys soon.', 'Sign in with passkeys soon.'], ['Something else.', 'Something else.'], [undefined, ''],
  ] as const) assert.equal(beyond(summary, 'Sign in with passkeys'), want)
})

test('what never was has no time', () => {
  for (const at of ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00+00:00']) assert.deepEqual([ago(at, Date.now()), ago(at, NaN), moment(at)], ['', '', ''])
})
