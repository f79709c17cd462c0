import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ComponentChildren, VNode } from 'preact'
import { blocks, plain, render, textOf, webAddress } from '../src/ui/markdown'

// drawn returns the nodes as text: elements in angle brackets, with the attributes that lead somewhere, and texts between bars.
function drawn(node: ComponentChildren): string {
  if (node === null || node === undefined || typeof node === 'boolean') return ''
  if (Array.isArray(node)) return node.map(drawn).join('')
  if (typeof node !== 'object') return String(node)
  const { type, props } = node as VNode<{ children?: ComponentChildren; href?: string; start?: number }>
  if (typeof type === 'function') return drawn((type as (p: unknown) => ComponentChildren)(props))
  const more = props.href ? ` href=${props.href}` : props.start && props.start > 1 ? ` start=${props.start}` : ''
  return `<${type}${more}>${drawn(props.children)}</${type}>`
}

const md = (text: string) => drawn(render(text))

test('blocks and spans become elements', () => {
  for (const [text, want] of [
    ['plain', '<p>plain</p>'],
    ['a **b** *c* ~~d~~ `e<f>&amp;`', '<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e<f>&amp;</code></p>'],
    ['# Why\nso', '<p>Why</p><p>so</p>'],
    ['- a\n- b\n  1. c', '<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul>'],
    ['3. a', '<ol start=3><li>a</li></ol>'],
    ['- [x] a\n- [ ] b', '<ul><li>☑ a</li><li>☐ b</li></ul>'],
    ['> a', '<blockquote><p>a</p></blockquote>'],
    ['```mermaid\ngraph TD\n```', '<span>mermaid</span><pre><code>graph TD</code></pre>'],
    ['```\nnever ends', '<pre><code>never ends</code></pre>'],
    ['|a|b|\n|-|-|\n|1|*2*|', '<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><em>2</em></td></tr></tbody></table></div>'],
    ['see [docs](https://a.example/x)', '<p>see <a href=https://a.example/x>docs</a><bdi> (https://a.example/x)</bdi></p>'],
    ['https://a.example/x', '<p><a href=https://a.example/x>https://a.example/x</a></p>'],
  ] as const) assert.equal(md(text), want, text)
})

test('nothing of a text is read as HTML, and only the web is linked', () => {
  for (const text of ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', 'a <b onclick=x>b</b>', '<!-- a -->', '<svg/onload=x>'])
    assert.equal(md(text).replace(/^<p>|<\/p>$/g, ''), text)
  for (const href of ['javascript:alert(1)', 'JAVASCRIPT:x', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', '//a.example', '/x', '#x', 'java\tscript:x']) {
    assert.equal(webAddress(href), '', href)
    assert.doesNotMatch(md(`[a](${href}) [b]\n\n[b]: ${href}`), /<a /, href)
  }
  assert.equal(md('![a](https://a.example/x.png)'), '<p>![a](https://a.example/x.png)</p>')
})

test('a text beyond the limits is shown as it is', () => {
  for (const text of ['x'.repeat(40_000), '>'.repeat(10_000) + 'a', '- '.repeat(5_000) + 'a', '1. '.repeat(3_000) + 'a']) assert.equal(md(text), `<p>${text}</p>`)
  for (const text of ['['.repeat(10_000), '*'.repeat(10_000) + 'a', '|a'.repeat(8_000) + '\n|-'.repeat(8_000), '<'.repeat(30_000), '\u202e\u0000\u001b[31m', '![['.repeat(9_000)])
    assert.ok(md(text).length >= text.trim().length, text.slice(0, 10))
})

test('a link shows the address that opens', () => {
  for (const [text, opens] of [
    ['https://b\u0430nk.example/x', 'https://xn--bnk-6cd.example/x'], ['[a](https://b\u0430nk.example/x)', 'https://xn--bnk-6cd.example/x'],
    ['https://good.example\\@other.example/', 'https://good.example/@other.example/'], ['[https://good.example](https:other.example)', 'https://other.example'],
    ['[a](https://a.example/\u202egnp.exe)', 'https://a.example/%E2%80%AEgnp.exe'], ['www.a.example', 'http://www.a.example'], ['https://a.example', 'https://a.example'],
  ] as const) {
    const href = /href=([^>]+)>/.exec(md(text))?.[1] ?? ''
    assert.equal(href.replace(/\/$/, ''), opens.replace(/\/$/, ''), text)
    assert.ok(textOf(render(text)).includes(href), `${text}: ${textOf(render(text))}`)
  }
})

test('no text within the limit of length takes long', () => {
  for (const [text, plain] of [
    ['**a_*'.repeat(6_500), true], ['*a '.repeat(5_000) + 'a*'.repeat(5_000), true], ['**a '.repeat(4_000) + ' a**'.repeat(4_000), true], ['a_'.repeat(16_000), true],
    ['|a'.repeat(50) + '\n' + '|-'.repeat(50) + '\n' + '|\n'.repeat(15_000), true],
    ['|a'.repeat(1_000) + '\n' + '|-'.repeat(1_000) + '\n' + '|\n'.repeat(14_000), true], ['> ' + '|a'.repeat(900) + '\n> ' + '|-'.repeat(900) + '\n' + '> |\n'.repeat(7_000), true],
    [('|a'.repeat(70) + '\n' + '|-'.repeat(70) + '\n' + '|\n'.repeat(140) + '\n').repeat(50), true], ['- a\n'.repeat(8_000), true],
    [('**a_*'.repeat(260) + '\n\n').repeat(24), true], ['A **bold** word, `some_code` and _more_.\n\n'.repeat(700), false],
    ['|a|b|\n|-|-|\n' + '|c|`d_e`|\n'.repeat(700), false], ['```\n' + 'snake_case(a * b)\n'.repeat(300) + '```', false],
  ] as const) {
    const start = process.cpuUsage(), shown = md(text), { user } = process.cpuUsage(start) // µs of this process, so that a busy machine fails no test
    assert.ok(user < 3_000_000, `${text.slice(0, 20)} takes ${user / 1000} ms`)
    assert.equal(shown === `<p>${text}</p>`, plain, text.slice(0, 20))
  }
})

// A person approves what the page shows, and the agent gets the source.
test('every word of the source is shown', () => {
  const hides = ['[//]: # (hidden rm)', '[x]: https://a.example "hidden"', '[x]: hidden\n[x]: hidden2', 'a [b](https://a.example "hidden") c', '![b](https://a.example "hidden")',
    '[b][x]\n\n[x]: https://a.example/hidden', '```sh hidden\nls\n```', '~~~hidden hidden2\nls\n~~~', '|a|\n|-|\n|b|hidden|hidden2|', '|a|\n|:-hidden-|\n|b|', '# a #hidden', '- [x] a\n- [hidden] b', '<!-- hidden -->',
    '&#104;idden', 'a  \n\thidden', '1. a\n\n   [y]: hidden', '> [y]: hidden', '- a\n\n  [y]: /hidden (title)', '<https://a.example/hidden>', '\\[hidden]: x', 'hidden\r\n[z]: hidden']
  const parts = [...hides, '**b**', '_c_', '`d`', '- e', '7. f', '> g', '\n', '\n\n', '|', '```', '[', '](', ')', '<', '&amp;', '    h', '\\', '---', '===', 'word']
  let seed = 7
  const random = (n: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n }
  const mixed = Array.from({ length: 3_000 }, () => Array.from({ length: 1 + random(7) }, () => parts[random(parts.length)]).join(['', ' ', '\n', '\n\n'][random(4)]))
  for (const text of [...hides, ...mixed]) {
    const shown = textOf(render(text))
    for (const word of text.match(/[a-z][a-z0-9]+/gi) ?? []) assert.ok(shown.includes(word), `${JSON.stringify(text)} hides ${word}: ${shown}`)
  }
})

test('a text is split between its blocks, and nothing is lost', () => {
  const text = '# Why\n\n- a\n- b\n\n\n```\nx\n\ny\n```\nso\n'
  assert.equal(blocks(text).length, 4)
  for (const some of [text, '', '\n\n', 'a\r\n\r\nb', '[a]: https://a.example\n[a]: https://b.example', '*'.repeat(10_000)]) assert.equal(blocks(some).join(''), some)
})

test('the beginning of a text has its words in one line', () => {
  assert.equal(plain('# Why\n\n**Two** `keys`:\n\n- one\n- [x] two'), 'Why Two keys: one two')
  assert.equal(plain('see [docs](https://a.example)'), 'see [docs](https://a.example)')
  assert.ok(plain('word '.repeat(900)).length < 700)
})
