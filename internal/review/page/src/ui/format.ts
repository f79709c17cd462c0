// The page's texts and number formats.

import type { Step } from '../types'

export function count(n: number, one: string, many = one + 's'): string {
  return `${n} ${n === 1 ? one : many}`
}

// ago returns the time since a moment, or until it; on paper, which has no present, the moment itself.
export function ago(at: string | undefined, now: number): string {
  if (!at || never(at)) return ''
  if (Number.isNaN(now)) return moment(at)
  const seconds = (now - Date.parse(at)) / 1000
  if (Math.abs(seconds) < 10) return 'just now'
  return seconds < 0 ? 'in ' + span(-seconds) : span(seconds) + ' ago'
}

// never: the program's zero time.
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

// toolsOf returns the tools of a step: the one that runs it, else those an agent may use.
export function toolsOf(s: Step): string[] {
  return s.tool ? [s.tool] : s.tools ?? []
}

const hosts: Record<string, string> = {
  'claude-code': 'Claude Code', claude: 'Claude Code', codex: 'Codex', 'codex-mcp-client': 'Codex', gemini: 'Gemini CLI', 'gemini-cli': 'Gemini CLI',
  'gemini-cli-mcp-client': 'Gemini CLI', cursor: 'Cursor', 'cursor-vscode': 'Cursor', opencode: 'OpenCode',
}

// hostName returns an actor's name as people know it: the program of an agent, and planloop for its engines.
export function hostName(name = ''): string {
  const [stem = '', rest] = name.split('#')
  return rest !== undefined && stem === 'engine' ? 'planloop' : hosts[stem] ? hosts[stem] + (rest ? ` (${rest})` : '') : name
}

// sentence capitalizes a text of the program, unless it begins with a name, and adds a full stop.
export function sentence(text: string, names: ReadonlySet<string> = new Set()): string {
  if (!text) return ''
  const named = names.has(/^[^\s:,;]*/.exec(text)![0]), begun = named ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?:…]["”’)]*$/.test(begun) ? begun : begun + '.'
}

// beyond returns the part of a summary that is not in the objective.
export function beyond(summary: string | undefined, objective: string): string {
  const text = summary?.trim() ?? '', said = objective.trim()
  if (text === said) return ''
  return text.startsWith(said) && /^[.!?:]/.test(text.slice(said.length)) ? text.slice(said.length + 1).trim() : text
}
