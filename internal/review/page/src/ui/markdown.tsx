// Markdown for display. The parser's tokens become nodes of the page: text is never read as HTML, only links to the web are links, and
// every word of the source is shown, since a person approves what the page shows.

import { lexer, type MarkedToken, type Token } from 'marked'
import { isValidElement, type ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'

// A text beyond these limits is shown as it is, so that no text can hang the page.
// The parser's time grows with the square of the marks of emphasis in a paragraph, and a short row of a table has all its columns.
const mostLetters = 32_768, mostDeep = 20, mostMarks = 800, mostElements = 10_000
const ordinary = /^\p{L}[\p{L}\p{N} ,;:.'"()/-]*$/u, address = /www\.|:\/\//i // most texts: one line without any mark
const tooDeep = new RegExp(`^(?:[ \\t]*(?:>|[-*+]|\\d+[.)])){${mostDeep}}`, 'm')

export function Markdown({ of }: { of: string }) {
  const nodes = useMemo(() => render(of), [of])
  return <div class="md" dir="auto">{nodes}</div>
}

// render returns the nodes of a text. A text or a block that Markdown would show in part is shown as it is.
export function render(text: string): ComponentChildren {
  if (ordinary.test(text) && !address.test(text)) return <p>{text}</p>
  const source = text.replace(/\r\n?/g, '\n')
  if (isBeyond(source)) return asIs(text)
  elements = 0
  try {
    const tokens = lexer(source)
    if (tokens.map(t => t.raw).join('') !== source) return asIs(text) // the parser drops a repeated definition
    return tokens.map(t => { const shown = block(t, 0); return showsAll(t.raw, shown) ? shown : asIs(t.raw.trimEnd()) })
  } catch {
    return asIs(text)
  }
}

function isBeyond(source: string): boolean {
  if (source.length > mostLetters || tooDeep.test(source)) return true
  const parts = source.split(/\n[ \t]*\n/)
  return parts.some(part => (part.match(/[*_~]/g)?.length ?? 0) > mostMarks) || parts.reduce((sum, part) => sum + mostCells(part), 0) > mostElements
}

// blocks splits a text between its blocks: paragraphs, lists, tables. The parts together are the text.
export function blocks(text: string): string[] {
  if (isBeyond(text)) return [text]
  try {
    const all: string[] = []
    let space = ''
    for (const t of lexer(text)) {
      if (t.type === 'space') space += t.raw
      else { all.push(space + t.raw); space = '' }
    }
    return all.join('') + space === text && all.length ? [...all.slice(0, -1), all.at(-1)! + space] : [text]
  } catch {
    return [text]
  }
}

const mostPlain = 600 // letters

// plain returns the beginning of a text in one line, without its marks, for a place that leads to the whole text.
export function plain(text: string): string {
  const start = text.slice(0, mostPlain)
  if (isBeyond(start)) return start
  const words = (t: Token): string => {
    const { tokens, items, text } = t as { tokens?: Token[]; items?: Token[]; text?: string }
    return t.type === 'table' || t.type === 'link' ? t.raw : tokens?.map(words).join('') ?? items?.map(i => words(i)).join(' ') ?? text ?? ''
  }
  try {
    return lexer(start).map(words).join(' ').replace(/\s+/g, ' ').trim() + (text.length > mostPlain ? '…' : '')
  } catch {
    return start
  }
}

// mostCells returns how many cells the tables of a part can have at most. The parser would fill short rows with empty cells.
function mostCells(part: string): number {
  const lines = part.split('\n'), columns = lines.map(line => /^[ \t>|:-]+$/.test(line) ? line.split('|').length - 1 : 0)
  return lines.length * columns.reduce((most, n) => Math.max(most, n), 0)
}

// elements counts the elements of the text that is rendered.
let elements = 0

function add(n: number): void {
  elements += n
  if (elements > mostElements) throw new RangeError('too many elements')
}

const asIs = (text: string) => <p class="as-is">{text}</p>

// showsAll reports whether the nodes have every word of the source, except numbers of a list and marks of a task.
function showsAll(raw: string, shown: ComponentChildren): boolean {
  const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? []
  const left = new Map<string, number>()
  for (const w of words(textOf(shown))) left.set(w, (left.get(w) ?? 0) + 1)
  return words(raw.replace(/^([ \t>]|[-*+] )*\d+[.)](?=\s)/gm, '').replace(/^([ \t>]|[-*+] |\d+[.)] )*\[[xX]\]/gm, '')).every(w => {
    const n = left.get(w) ?? 0
    left.set(w, n - 1)
    return n > 0
  })
}

export function textOf(node: ComponentChildren): string {
  if (Array.isArray(node)) return node.map(textOf).join(' ')
  if (isValidElement(node)) return textOf((node.props as { children?: ComponentChildren }).children)
  return typeof node === 'string' ? node : ''
}

function block(token: Token, depth: number): ComponentChildren {
  add(1)
  if (depth > mostDeep) return asIs(token.raw)
  const t = token as MarkedToken
  switch (t.type) {
    case 'space': return null
    case 'heading': return <p class="heading">{inline(t.tokens, depth)}</p>
    case 'paragraph': return <p>{inline(t.tokens, depth)}</p>
    case 'text': return inline(t.tokens ?? [t], depth)
    case 'code': return <>{t.lang && <span class="soft small">{t.lang}</span>}<pre tabIndex={0}><code>{t.text}</code></pre></>
    case 'blockquote': return <blockquote>{t.tokens.map(b => block(b, depth + 1))}</blockquote>
    case 'hr': return <hr />
    case 'list': {
      const items = t.items.map(item => <li>{item.tokens.map(b => block(b, depth + 1))}</li>)
      return t.ordered ? <ol start={t.start || 1}>{items}</ol> : <ul>{items}</ul>
    }
    case 'table': {
      add(t.header.length * (t.rows.length + 1))
      return (
        <div class="wide" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead><tr>{t.header.map(c => <th>{inline(c.tokens, depth)}</th>)}</tr></thead>
            <tbody>{t.rows.map(row => <tr>{row.map(c => <td>{inline(c.tokens, depth)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )
    }
    case 'checkbox': return inline([t], depth)
    default: return asIs(token.raw.trimEnd()) // HTML and definitions among others
  }
}

function inline(tokens: Token[], depth: number): ComponentChildren {
  return tokens.map(t => span(t, depth + 1))
}

function span(token: Token, depth: number): ComponentChildren {
  add(1)
  if (depth > mostDeep) return token.raw
  const t = token as MarkedToken
  switch (t.type) {
    case 'text': return t.tokens ? inline(t.tokens, depth) : t.text
    case 'escape': return t.text
    case 'strong': return <strong>{inline(t.tokens, depth)}</strong>
    case 'em': return <em>{inline(t.tokens, depth)}</em>
    case 'del': return <del>{inline(t.tokens, depth)}</del>
    case 'codespan': return <code>{t.text}</code>
    case 'br': return <br />
    case 'checkbox': return t.checked ? '☑ ' : '☐ '
    case 'link': {
      const address = webAddress(t.href)
      if (!address || t.title) return t.raw
      // The address that opens can differ from the written one: letters of another alphabet that look alike become xn--.
      const opens = address === t.href + '/' ? t.href : address
      const more = [...new Set([t.href, opens])].filter(a => a !== t.text)
      return <><a href={opens} target="_blank" rel="noopener noreferrer">{inline(t.tokens, depth)}</a>{more.length > 0 && <bdi class="soft" dir="ltr"> ({more.join(', opens ')})</bdi>}</>
    }
    default: return token.raw
  }
}

// webAddress returns an address of the web, '' for others: a script, a file, a relative path.
export function webAddress(href: string): string {
  const url = URL.parse(href)
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : ''
}
