// The changes in a text, word by word.

export interface Part { text: string; kind: 'same' | 'was' | 'now' }

const mostCells = 250_000 // of the table to fill; longer texts are compared by lines, then as a whole

// changes returns the kept, removed and added parts of a text, in reading order.
export function changes(was: string, now: string): Part[] {
  if (was === now) return now ? [{ text: now, kind: 'same' }] : []
  for (const unit of [/`[^`\n]+`|\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu, /[^\n]*\n|[^\n]+/g]) {
    const parts = compare(was.match(unit) ?? [], now.match(unit) ?? [])
    if (parts) return alike(parts) ? parts : whole(was, now)
  }
  return whole(was, now)
}

function whole(was: string, now: string): Part[] {
  const parts: Part[] = [{ text: was, kind: 'was' }, { text: now, kind: 'now' }]
  return parts.filter(part => part.text)
}

// alike: if hardly a word is kept, two whole texts are easier to read than shreds of both.
function alike(parts: Part[]): boolean {
  const size = (kind: Part['kind']) => parts.reduce((sum, part) => sum + (part.kind === kind ? part.text.trim().length : 0), 0)
  return size('same') * 3 >= Math.min(size('was'), size('now')) || size('was') === 0 || size('now') === 0
}

// compare finds the longest common subsequence between the equal ends; undefined: too long.
function compare(was: string[], now: string[]): Part[] | undefined {
  let head = 0, tail = 0
  while (head < was.length && head < now.length && was[head] === now[head]) head++
  while (tail < was.length - head && tail < now.length - head && was[was.length - 1 - tail] === now[now.length - 1 - tail]) tail++
  const a = was.slice(head, was.length - tail), b = now.slice(head, now.length - tail)
  const wide = b.length + 1
  if ((a.length + 1) * wide > mostCells) return undefined
  const best = new Uint32Array((a.length + 1) * wide) // for the rest from i, j on
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * wide + j] = a[i] === b[j] ? best[(i + 1) * wide + j + 1]! + 1 : Math.max(best[(i + 1) * wide + j]!, best[i * wide + j + 1]!)
    }
  }
  const parts: Part[] = []
  const add = (text: string, kind: Part['kind']) => {
    const last = parts.at(-1)
    if (last?.kind === kind) last.text += text
    else if (text) parts.push({ text, kind })
  }
  add(was.slice(0, head).join(''), 'same')
  let i = 0, j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add(a[i++]!, 'same'); j++ }
    else if (j >= b.length || (i < a.length && best[(i + 1) * wide + j]! >= best[i * wide + j + 1]!)) add(a[i++]!, 'was')
    else add(b[j++]!, 'now')
  }
  add(was.slice(was.length - tail).join(''), 'same')
  return joined(parts)
}

// joined merges two changes with hardly anything between them.
function joined(parts: Part[]): Part[] {
  const all: Part[] = []
  let was = '', now = ''
  const flush = () => { all.push(...whole(was, now)); was = now = '' }
  parts.forEach((part, i) => {
    if (part.kind === 'was') was += part.text
    else if (part.kind === 'now') now += part.text
    else if (was && now && i < parts.length - 1 && /^[ \t]*\S{0,2}[ \t]*$/.test(part.text)) { was += part.text; now += part.text }
    else { flush(); all.push(part) }
  })
  flush()
  return all
}

// Entries of a list: kept, removed or added; a reworded entry is compared word by word.
export type Entry = { kind: 'same' | 'was' | 'now'; text: string } | { kind: 'changed'; parts: Part[] }

export function entries(was: readonly string[], now: readonly string[]): Entry[] {
  const parts = compareEntries(was, now)
  const all: Entry[] = []
  for (let i = 0; i < parts.length; i++) {
    let gone = 0, come = 0
    while (parts[i + gone]?.kind === 'was') gone++
    while (parts[i + gone + come]?.kind === 'now') come++
    if (!gone && !come) { all.push(parts[i]!); continue }
    for (let k = 0; k < Math.max(gone, come); k++) {
      const before = k < gone ? parts[i + k]!.text : undefined, after = k < come ? parts[i + gone + k]!.text : undefined
      if (before !== undefined && after !== undefined) {
        const words = changes(before, after)
        if (words.some(part => part.kind === 'same' && part.text.trim())) { all.push({ kind: 'changed', parts: words }); continue }
      }
      if (before !== undefined) all.push({ kind: 'was', text: before })
      if (after !== undefined) all.push({ kind: 'now', text: after })
    }
    i += gone + come - 1
  }
  return all
}

function compareEntries(was: readonly string[], now: readonly string[]): { kind: Part['kind']; text: string }[] {
  const kept = new Set(was.filter(text => now.includes(text)))
  const all: { kind: Part['kind']; text: string }[] = []
  let i = 0
  for (const text of now) {
    if (!kept.has(text)) { all.push({ kind: 'now', text }); continue }
    const at = was.indexOf(text, i)
    if (at < 0) { all.push({ kind: 'same', text }); continue } // it has only moved
    const gone = was.slice(i, at).filter(other => !kept.has(other)).map(other => ({ kind: 'was' as const, text: other }))
    const comes = all.findLastIndex(entry => entry.kind !== 'now') + 1
    all.splice(comes, 0, ...gone)
    all.push({ kind: 'same', text })
    i = at + 1
  }
  const rest = was.slice(i).filter(other => !kept.has(other)).map(other => ({ kind: 'was' as const, text: other }))
  all.splice(all.findLastIndex(entry => entry.kind !== 'now') + 1, 0, ...rest)
  return all
}
