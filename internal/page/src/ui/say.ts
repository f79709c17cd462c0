// Words and figures as the page says them.

import type { Step } from '../types'

export function count(n: number, one: string, many = one + 's'): string {
  return `${n} ${n === 1 ? one : many}`
}

// ago says how long before now a moment was, or how long after; on paper, where now is nothing, when it was.
export function ago(at: string | undefined, now: number): string {
  if (!at || never(at)) return ''
  if (Number.isNaN(now)) return moment(at)
  const seconds = (now - Date.parse(at)) / 1000
  if (Math.abs(seconds) < 10) return 'just now'
  return seconds < 0 ? 'in ' + span(-seconds) : span(seconds) + ' ago'
}

// never: the program's word for no time at all.
const never = (at: string) => at.startsWith('0001-01-01T')

export function span(seconds: number): string {
  if (Number.isNaN(seconds)) return ''
  if (seconds < 60) return Math.round(seconds) + ' s'
  if (seconds < 3600) return Math.round(seconds / 60) + ' min'
  if (seconds < 48 * 3600) return Math.round(seconds / 3600) + ' h'
  return Math.round(seconds / 86400) + ' days'
}

export function moment(at: string): string {
  if (never(at)) return ''
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
}

// by says which tools a step uses: the one that carries it out, else those an agent may use.
export function toolsOf(s: Step): string[] {
  return s.tool ? [s.tool] : s.tools ?? []
}

// sentence begins a text of the program with a capital, unless it begins with somebody's name, and ends it with a stop.
export function sentence(text: string, names: ReadonlySet<string> = new Set()): string {
  if (!text) return ''
  const named = names.has(/^[^\s:,;]*/.exec(text)![0]), begun = named ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?:…]["”’)]*$/.test(begun) ? begun : begun + '.'
}

// plainly leaves out what tells the connection of an agent from others, ann#9d51f6, wherever nobody else is called ann.
export function plainly(text: string, names: ReadonlySet<string>): string {
  if (!text.includes('#')) return text
  const stems = [...names].map(stem)
  return text.replace(/[^\s"“(]+#\w+/g, name => names.has(name) && stems.filter(s => s === stem(name)).length === 1 ? stem(name) : name)
}

const stem = (name: string) => name.replace(/#\w+$/, '')

// beyond is what a summary says that the objective has not said.
export function beyond(summary: string | undefined, objective: string): string {
  const text = summary?.trim() ?? '', said = objective.trim()
  if (text === said) return ''
  return text.startsWith(said) && /^[.!?:]/.test(text.slice(said.length)) ? text.slice(said.length + 1).trim() : text
}
