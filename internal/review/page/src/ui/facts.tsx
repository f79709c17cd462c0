// The head's line of facts, computed from the steps: the plan's risks, folders, new files and programs, to be understood in ten seconds.

import { batch } from '@preact/signals'
import { editing, selected } from '../store'
import type { Step } from '../types'
import { focus } from './focus'
import { count } from './format'

export interface Part { text: string; steps: number[]; tone?: 'risk' | 'asks' }

const most = 3 // names in a part
const reasonsShown = 2 // of the warnings, beside the missing rollbacks

// reasons are the beginnings of a part, by the gate that warned of its steps.
const reasons: Record<string, string> = {
  reversible: 'no rollback described for', verifiable: 'no check for', verify_installed: 'check not installed for', oversize: 'too large:',
  single_responsibility: 'several tasks in', vague_outcome: 'vague title of', hint_actionable: 'vague hints for', context_hints: 'no hints for',
  relevant_file_paths: 'no paths for', paths_exist: 'missing paths in', hint_paths: 'missing files in hints of',
}
const withVerbs = new Set(['cargo', 'docker', 'git', 'go', 'helm', 'kubectl', 'npm', 'npx', 'pnpm', 'terraform', 'uv', 'yarn'])
const silent = new Set(['cd', 'echo', 'export', 'set', 'true', 'test', '[', 'sleep', 'for', 'case', 'esac', 'done', 'fi'])

// factsOf leaves out the parts about which the plan says nothing.
export function factsOf(steps: readonly Step[]): Part[] {
  const parts: Part[] = [], add = (text: string, of: readonly Step[], tone?: Part['tone']) => {
    if (of.length) parts.push({ text, steps: of.map(s => s.number), ...(tone && { tone }) })
  }
  const left = steps.filter(s => s.status !== 'skipped' && s.status !== 'cancelled')
  add(count(steps.length, 'step'), steps)
  const high = left.filter(s => s.risk === 'high')
  add(`${high.length} high risk${numbered(high)}`, high, 'risk')
  for (const { text, steps: of, tone } of warningsIn(left)) add(text, of, tone)
  add(`touches ${names(left.flatMap(placesOf))}`, left.filter(s => placesOf(s).length))
  const files = new Set(left.flatMap(s => s.creates ?? []))
  add(`creates ${count(files.size, 'file')}`, left.filter(s => s.creates?.length))
  add(`runs ${names(left.flatMap(programsOf))}`, left.filter(s => programsOf(s).length))
  return parts
}

// warningsIn returns the most important reasons with their steps, and counts the other steps with warnings.
function warningsIn(steps: readonly Step[]): { text: string; steps: Step[]; tone: 'risk' | 'asks' }[] {
  const warned = (by: (gate: string) => boolean) => steps.filter(s => s.warnings?.some(w => by(w.gate ?? '')))
  const gates = Object.keys(reasons).filter(gate => warned(g => g === gate).length), shown = gates.slice(0, reasonsShown + (gates[0] === 'reversible' ? 1 : 0))
  const rest = warned(g => !shown.includes(g))
  return [
    ...shown.map(gate => {
      const of = warned(g => g === gate)
      return { text: `${reasons[gate]} ${shortened(of.map(s => s.number))}`, steps: of, tone: gate === 'reversible' ? 'risk' as const : 'asks' as const }
    }),
    { text: count(rest.length, shown.length ? 'more warning' : 'warning') + numbered(rest), steps: rest, tone: 'asks' },
  ]
}

const numbered = (of: readonly Step[]) => ` (${shortened(of.map(s => s.number))})`

function shortened(all: readonly (string | number)[]): string {
  return all.slice(0, most).join(', ') + (all.length > most ? ` +${all.length - most}` : '')
}

function names(all: readonly string[]): string {
  const each = new Set(all)
  return shortened([...each].filter(name => !each.has(name + '/')))
}

// placesOf returns the top folders of a step's files, and its files outside folders.
function placesOf(s: Step): string[] {
  return [...(s.paths ?? []), ...(s.creates ?? [])].map(p => {
    const path = p.replace(/^\.\//, ''), end = path.indexOf('/', 1)
    return end < 0 ? path : path.slice(0, end + 1)
  }).filter(Boolean)
}

// programsOf returns the programs of a step's commands: its check, and the command or the tool that runs it.
function programsOf(s: Step): string[] {
  const command = commandIn(s.args)
  return [...new Set([...(command ? started(command) : s.tool ? [s.tool] : []), ...started(s.verify ?? '')])]
}

function commandIn(args: string | undefined): string {
  try {
    const { command } = JSON.parse(args ?? '{}') as { command?: unknown }
    return typeof command === 'string' ? command : ''
  } catch {
    return ''
  }
}

// started returns the programs that a shell command starts; with the verb, if the program has verbs.
function started(command: string): string[] {
  return command.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '_').replace(/>&\d/g, '').split(/&&|\|\||[|;&\n]/).flatMap(part => {
    const [program = '', verb = ''] = part.trim().split(/\s+/).filter(word => !/^\w+=|^([!({]|if|then|else|elif|while|until|do)$/.test(word))
    const name = program.slice(program.lastIndexOf('/') + 1)
    return !name || silent.has(name) ? [] : [withVerbs.has(name) && /^[a-z][\w:-]*$/.test(verb) ? `${name} ${verb}` : name]
  })
}

// FactsLine shows the parts. Each one goes to the next of its steps, and after the last to the first.
export function FactsLine({ steps }: { steps: readonly Step[] }) {
  const go = (to: readonly number[]) => batch(() => {
    editing.value = false
    selected.value = to[to.indexOf(selected.value) + 1] ?? to[0]!
    focus('step-' + selected.value)
  })
  return (
    <ul class="at-a-glance" role="list" aria-label="The plan at a glance">
      {factsOf(steps).map(p => <li key={p.text}><button class={p.tone} title={`Go to step ${shortened(p.steps)}`} onClick={() => go(p.steps)}>{p.text}</button></li>)}
    </ul>
  )
}
