// A component that writes {number && <b>…</b>} shows a 0 on the page.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (name: string) => readFileSync(`src/${name}`, 'utf8')

test('no number stands before && in a component', () => {
  const numbers = new Set([...read('types.ts').matchAll(/^\s+(\w+)\??: number;$/gm)].map(m => m[1]))
  assert.ok(numbers.has('step'))
  const shown = new RegExp(`\\{[\\w.?]*\\b(${[...numbers, 'length', 'size'].join('|')}) && `, 'g')
  for (const name of readdirSync('src/ui')) {
    assert.deepEqual([...read(`ui/${name}`).matchAll(shown)].map(m => m[0]), [], name)
  }
})
