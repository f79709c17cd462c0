// The keys of the page: one table, used by the help and by the listener. Parts of the page add their own rows.

export interface Key {
  keys: string[] // in the form of event.key, "Alt+ArrowUp" with its modifiers
  what: string // its effect, for the help
  group: 'Deciding' | 'Steps' | 'Text of a step' | 'Viewing'
  when?: () => boolean // otherwise the browser handles the key
  over?: boolean // goes before other rows with its keys, and before a focused button
  run: () => void
}

const table: Key[] = []

// bind adds keys and returns a function that removes them.
export function bind(...keys: Key[]): () => void {
  table.push(...keys)
  return () => { for (const k of keys) table.splice(table.indexOf(k), 1) }
}

export function bound(): readonly Key[] { return table }

// listen makes the keys work while no text is being typed. An open dialog gets all keys itself.
export function listen(on: Document): () => void {
  const heard = (e: KeyboardEvent) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.isComposing || on.querySelector('dialog[open]')) return
    if (types(e.target)) {
      if (e.key === 'Escape') leave(on)
      return
    }
    if (e.shiftKey && e.key.startsWith('Arrow')) return // the browser extends a selection
    const name = (e.altKey ? 'Alt+' : '') + e.key, fits = table.filter(k => k.keys.includes(name) && (!k.when || k.when()))
    const key = fits.find(k => k.over) ?? fits[0]
    if (!key) return
    if (!key.over && (name === 'Enter' || name === ' ') && e.target instanceof HTMLElement && e.target.closest('button, a, summary')) return
    e.preventDefault()
    key.run()
  }
  on.addEventListener('keydown', heard)
  return () => on.removeEventListener('keydown', heard)
}

// leave moves the focus from a field back to the chosen step; the typed text stays in the field.
function leave(on: Document): void {
  (on.querySelector<HTMLElement>('.row.chosen .title') ?? on.querySelector<HTMLElement>('main'))?.focus()
}

function types(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))
}
