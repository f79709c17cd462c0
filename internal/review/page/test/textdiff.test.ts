import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changes, entries, type Part } from '../src/textdiff'
import { random } from './plans'

const shown = (parts: Part[]) => parts.map(p => p.kind === 'was' ? `[-${p.text}-]` : p.kind === 'now' ? `[+${p.text}+]` : p.text).join('')
const side = (parts: Part[], not: Part['kind']) => parts.filter(p => p.kind !== not).map(p => p.text).join('')

for (const [was, now, want] of [
  ['', '', ''],
  ['', 'new text', '[+new text+]'],
  ['old text', '', '[-old text-]'],
  ['the same', 'the same', 'the same'],
  ['Write the test first', 'Write the failing test first', 'Write the [+failing +]test first'],
  ['Read the config file', 'Read the settings file', 'Read the [-config-][+settings+] file'],
  ['run go test', 'run the whole suite', 'run [-go test-][+the whole suite+]'],
  ['keep one two end', 'keep three four end', 'keep [-one two-][+three four+] end'],
  ['timeout: 30s', 'timeout: 60s', 'timeout: [-30s-][+60s+]'],
  ['Write a parser for the file', 'Delete every cache of a folder', '[-Write a parser for the file-][+Delete every cache of a folder+]'],
  ['grün und blau', 'grün und rot', 'grün und [-blau-][+rot+]'],
] as const) {
  test(`from "${was}" to "${now}"`, () => assert.equal(shown(changes(was, now)), want))
}

test('both texts can be read in what has changed, whatever they are', () => {
  const next = random(3), words = ['a', 'bc', ' ', '\n', 'd.', 'efg', '  ', '𝒳', 'e\u0301']
  for (let i = 0; i < 3000; i++) {
    const text = () => Array.from({ length: Math.floor(next() * 14) }, () => words[Math.floor(next() * words.length)]).join('')
    const was = text(), now = text(), parts = changes(was, now)
    assert.equal(side(parts, 'now'), was)
    assert.equal(side(parts, 'was'), now)
    assert.ok(parts.every(p => p.text !== ''))
  }
})

test('long texts take a bounded time', () => {
  const text = (word: string) => Array.from({ length: 40_000 }, (_, i) => word + i).join(' ')
  const began = process.cpuUsage().user
  const parts = changes(text('a'), text('b'))
  assert.ok(process.cpuUsage().user - began < 1_000_000)
  assert.equal(side(parts, 'now'), text('a'))
})

test('of a list, each entry stayed, went, came or was reworded', () => {
  assert.deepEqual(entries(['one', 'see the file a.go', 'three'], ['one', 'see the file b.go', 'three', 'four']), [
    { kind: 'same', text: 'one' },
    { kind: 'changed', parts: changes('see the file a.go', 'see the file b.go') },
    { kind: 'same', text: 'three' },
    { kind: 'now', text: 'four' },
  ])
  assert.deepEqual(entries(['a', 'b'], []), [{ kind: 'was', text: 'a' }, { kind: 'was', text: 'b' }])
  assert.deepEqual(entries(['a', 'b'], ['b', 'a']), [{ kind: 'same', text: 'b' }, { kind: 'same', text: 'a' }])
})

test('no entry of either list is lost', () => {
  const next = random(5), words = ['x', 'y', 'the long one', 'the short one', 'z']
  for (let i = 0; i < 3000; i++) {
    const list = () => [...new Set(Array.from({ length: Math.floor(next() * 6) }, () => words[Math.floor(next() * words.length)]!))]
    const was = list(), now = list(), all = entries(was, now)
    const read = (not: Part['kind']) => all.flatMap(e => e.kind === 'changed' ? [side(e.parts, not)] : e.kind === not ? [] : [e.text]).sort()
    assert.deepEqual(read('now'), [...was].sort())
    assert.deepEqual(read('was'), [...now].sort())
  }
})

test('code in back quotes changes as a whole, so that no part holds half of it', () => {
  for (const [was, now] of [['run `a` and `b`', 'run `c` and `b`'], ['`x y` stays', '`x z` stays'], ['call `f`', 'call `f` twice, `g` once']] as const) {
    for (const part of changes(was, now)) assert.equal(part.text.split('`').length % 2, 1, part.text)
  }
})
