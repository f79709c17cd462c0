// The keys of the page: one table, which the help shows and the listener reads. A part of the page adds its own rows.

export interface Key {
  keys: string[] // as event.key says them, "Alt+ArrowUp" with its modifiers
  what: string // what it does, in the help
  group: 'Steps' | 'Deciding' | 'Looking'
  when?: () => boolean // else it does nothing and the browser has it
  run: () => void
}

const table: Key[] = []

// bind adds keys and returns what takes them away again.
export function bind(...keys: Key[]): () => void {
  table.push(...keys)
  return () => { for (const k of keys) table.splice(table.indexOf(k), 1) }
}

export function bound(): readonly Key[] { return table }

// listen has the keys work wherever nobody types. A dialog that is open has them to itself.
export function listen(on: Document): () => void {
  const heard = (e: KeyboardEvent) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.isComposing || on.querySelector('dialog[open]')) return
    if (types(e.target)) {
      if (e.key === 'Escape') leave(on)
      return
    }
    const name = (e.altKey ? 'Alt+' : '') + e.key
    const key = table.find(k => k.keys.includes(name) && (!k.when || k.when()))
    if (!key) return
    if ((name === 'Enter' || name === ' ') && e.target instanceof HTMLElement && e.target.closest('button, a, summary')) return
    e.preventDefault()
    key.run()
  }
  on.addEventListener('keydown', heard)
  return () => on.removeEventListener('keydown', heard)
}

// leave goes from a field back to the step that is chosen: what was typed stays in the field.
function leave(on: Document): void {
  (on.querySelector<HTMLElement>('.row.chosen .title') ?? on.querySelector<HTMLElement>('main'))?.focus()
}

function types(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))
}
