// Editing a step: a field for each thing that its author wrote, with changes marked.

import { useId } from 'preact/hooks'
import { editOf, typed } from '../unsent'
import type { Input } from '../source'
import { act, aim, busy, editing, fault, selected, shown, showsDraft, swapped } from '../store'
import type { Step } from '../types'
import { focus } from './focus'

type Kind = 'line' | 'text' | 'lines' | 'steps' | 'flag' | 'number' | 'json' | readonly string[]

// The fields by their names in the contract, the step's property, and the label.
const fields: [name: string, of: keyof Step, label: string, kind: Kind][] = [
  ['title', 'title', 'Title', 'line'], ['details', 'details', 'Details', 'text'],
  ['type', 'type', 'Type', ['', 'feature', 'bugfix', 'chore', 'test']], ['risk', 'risk', 'Risk', ['', 'low', 'medium', 'high']],
  ['depends_on', 'depends_on', 'After steps', 'steps'], ['acceptance_criteria', 'criteria', 'Criteria', 'lines'], ['verify', 'verify', 'Verify', 'line'],
  ['relevant_file_paths', 'paths', 'Paths', 'lines'], ['creates', 'creates', 'Creates', 'lines'], ['context_hints', 'hints', 'Hints', 'lines'],
  ['tools', 'tools', 'May use', 'lines'], ['tool', 'tool', 'Tool', 'line'], ['args', 'args', 'Arguments (JSON)', 'json'],
  ['suggested_agent', 'suggested_agent', 'For agent', 'line'], ['pause', 'pause', 'Ask a person first', 'line'],
  ['when', 'when', 'Only when', 'line'], ['for_each', 'for_each', 'For each of', 'line'], ['timeout', 'timeout', 'At most, seconds', 'number'],
  ['critical', 'critical', 'The plan must be revised if it fails', 'flag'], ['requires_approval', 'requires_approval', 'A person must approve it before it runs', 'flag'],
  ['idempotent', 'idempotent', 'It is safe to repeat', 'flag'], ['always', 'always', 'It runs when a run ends, to clean up', 'flag'],
]

// usual is how many of the fields most steps have; the rare ones are folded.
const usual = 11, rare = fields.slice(usual)

// written returns a field's value as the text in its control.
function written(s: Step, of: keyof Step): string {
  const value = s[of]
  if (!value) return ''
  if (of === 'criteria') return (s.criteria ?? []).map(c => c.text).join('\n')
  if (of === 'depends_on') return (s.depends_on ?? []).join(', ')
  return Array.isArray(value) ? value.join('\n') : String(value)
}

function meant(text: string, kind: Kind): unknown {
  switch (kind) {
    case 'lines': return text.split('\n').map(line => line.trim()).filter(Boolean)
    case 'steps': return text.split(/[\s,]+/).filter(Boolean)
    case 'flag': return text !== ''
    case 'number': return Number(text || 0)
    case 'json': return text.trim() ? JSON.parse(text) : null
    default: return text.trim()
  }
}

const blank: Step = { id: '', number: 0, title: '', status: 'pending' }

// EditStep is the form for a step, or with after for a new one to insert after that step.
export function EditStep({ step: s = blank, after, onClose }: { step?: Step; after?: number; onClose?: () => void }) {
  const text = after === undefined ? editOf(s, shown.value?.steps ?? []) : typed('add'), id = useId()
  const now: Record<string, string> = text.value ? JSON.parse(text.value) as Record<string, string> : {}
  const changed = fields.filter(([name, of]) => name in now && now[name] !== written(s, of))
  const set = (name: string, value: string | undefined) => {
    const { [name]: _, ...rest } = now
    const next = value === undefined ? rest : { ...rest, [name]: value }
    text.value = Object.keys(next).length ? JSON.stringify(next) : ''
  }
  const badJSON = changed.some(([name, , , kind]) => kind === 'json' && !parses(now[name] ?? ''))
  const leave = () => {
    text.value = ''
    if (onClose) return onClose()
    editing.value = false
    focus('step-' + s.number)
  }
  const send = async (e: Event) => {
    e.preventDefault()
    if (badJSON || !changed.length) return
    const values: Input = Object.fromEntries(changed.map(([name, , , kind]) => [name, meant(now[name] ?? '', kind)]))
    const done = after === undefined ? await act('edit_step', { ...aim(), step: s.id, fields: values }) : await act('add_step', { ...aim(), after, fields: values })
    if (done) leave()
  }
  const draw = ([name, of, label, kind]: typeof fields[number]) => {
    const was = written(s, of), value = now[name] ?? was, differs = name in now && value !== was
    const wrong = fault.value?.field?.includes(name) || (kind === 'json' && !parses(value))
    const shared = { id: `${id}-${name}`, 'aria-invalid': wrong || undefined, 'aria-describedby': differs ? `${id}-${name}-was` : undefined }
    return (
      <div key={name} class={`field${differs ? ' differs' : ''}${kind === 'flag' ? ' flag' : ''}`}>
        <label for={shared.id}>{label}{kind === 'lines' && <span class="soft">, one per line</span>}</label>
        <Control kind={kind} value={value} autofocus={name === 'title'} attributes={shared} set={v => set(name, v === was ? undefined : v)} />
        {differs && (
          <span id={shared.id + '-was'} class="was">
            changed <button type="button" class="quiet small" onClick={() => set(name, undefined)} aria-label={`Undo the change to ${label}`}>Undo</button>
          </span>
        )}
      </div>
    )
  }
  return (
    <form class="edit" onSubmit={send} onKeyDown={e => { if ((e.ctrlKey || e.metaKey) && e.key === 'Enter') void send(e) }}>
      {fields.slice(0, usual).map(draw)}
      <details class="edit rare" open={rare.some(([name, of]) => name in now || !!written(s, of))}>
        <summary class="soft">More: tool, conditions, approval</summary>
        {rare.map(draw)}
      </details>
      <div class="buttons sticky">
        <button class="primary" disabled={!changed.length || badJSON || !!busy.value || (showsDraft.value && !!swapped.value)}>{after === undefined ? 'Save' : 'Add the step'}</button>
        <button type="button" onClick={leave}>Cancel</button>
        <span class="soft small">{badJSON ? 'The arguments are not valid JSON.' : changed.length ? `Changed: ${changed.map(f => f[2].toLowerCase()).join(', ')}` : 'No changes yet.'}</span>
      </div>
    </form>
  )
}

function Control({ kind, value, set, autofocus, attributes }: { kind: Kind; value: string; set: (v: string) => void; autofocus: boolean; attributes: object }) {
  const typedIn = (e: { currentTarget: { value: string } }) => set(e.currentTarget.value)
  if (kind === 'flag') return <input type="checkbox" {...attributes} checked={value !== ''} onChange={e => set(e.currentTarget.checked ? 'true' : '')} />
  if (typeof kind === 'object') return <select {...attributes} value={value} onChange={typedIn}>{kind.map(k => <option key={k} value={k}>{k || 'not set'}</option>)}</select>
  if (kind === 'line' || kind === 'steps') return <input {...attributes} autofocus={autofocus} value={value} onInput={typedIn} />
  if (kind === 'number') return <input type="number" min="0" {...attributes} value={value} onInput={typedIn} />
  return <textarea {...attributes} class={kind === 'json' ? 'mono' : ''} rows={Math.min(10, Math.max(kind === 'text' ? 3 : 2, value.split('\n').length))} value={value} onInput={typedIn} />
}

function parses(text: string): boolean {
  if (!text.trim()) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// edit opens the form for a step.
export function edit(number: number): void {
  selected.value = number
  editing.value = true
}
