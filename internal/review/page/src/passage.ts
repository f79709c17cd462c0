// The passage of a step that a person has selected, to comment on it. A comment names the field and quotes the passage at its beginning, so
// that agents and terminals show both, and the page finds the passage again in a later version.

import { signal } from '@preact/signals'
import type { Step } from './types'

export interface Passage { step: number; field: string; quote: string; at: { left: number; top: number } } // at: below its end, in the window

export const passage = signal<Passage | null>(null)

const mostQuoted = 160 // letters

// followSelection keeps the passage up to date.
export function followSelection(on: Document): () => void {
  const read = () => readSelection(on)
  on.addEventListener('selectionchange', read)
  on.addEventListener('scroll', read, { capture: true, passive: true })
  return () => {
    on.removeEventListener('selectionchange', read)
    on.removeEventListener('scroll', read, { capture: true })
  }
}

// readSelection brings the passage up to date at once, since the event comes later.
export function readSelection(on: Document): void { passage.value = selectedIn(on) }

function selectedIn(on: Document): Passage | null {
  const range = on.getSelection()
  if (!range?.rangeCount || range.isCollapsed) return null
  const fieldOf = (node: Node | null) => (node instanceof Element ? node : node?.parentElement)?.closest<HTMLElement>('[data-field]')
  const field = fieldOf(range.anchorNode), quote = quoted(range.toString()), box = range.getRangeAt(0).getBoundingClientRect()
  const step = Number(field?.closest<HTMLElement>('[data-step]')?.dataset.step)
  if (!field || field !== fieldOf(range.focusNode) || !step || !quote) return null
  return { step, field: field.dataset.field!, quote, at: { left: box.left, top: box.bottom } }
}

// quoted returns a text as it is quoted: in one line, without the marks of a quotation, and not too long.
export function quoted(text: string): string {
  const line = text.replace(/["“”]/g, "'").replace(/\s+/g, ' ').trim()
  return line.length > mostQuoted ? line.slice(0, mostQuoted).replace(/\s*\S*$/, '…') : line
}

export type Remark = 'comment' | 'suggest' | 'remove'

// begun returns the beginning of a remark on a passage.
export function begun(how: Remark, { field, quote }: Passage): string {
  return how === 'comment' ? `${field}, "${quote}": ` : how === 'suggest' ? `${field}: replace "${quote}" by "${quote}"` : `${field}: remove "${quote}"`
}

// isGone reports whether a comment quotes a passage that its step no longer has.
export function isGone(comment: string, step: Step | undefined): boolean {
  const found = /^[\p{L} ]+(?:, "([^"]+)": |: (?:replace|remove) "([^"]+)")/u.exec(comment), quote = found?.[1] ?? found?.[2]
  if (!quote || !step) return false
  const texts = JSON.stringify(step, (_, value: unknown) => typeof value === 'string' ? value.replace(/\s/g, ' ') : value)
  return !words(texts).includes(words(quote))
}

const words = (text: string) => ` ${text.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? ''} `
