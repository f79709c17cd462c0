// The entry of the MCP App: the same page over the host's messages, narrower, and for one workspace.

import { signal } from '@preact/signals'
import { render } from 'preact'
import { connect, type Context } from './bridge'
import { arrangeBy } from './graph/arrange'
import { layout } from './graph/layout'
import { listen } from './keys'
import { begin, showView, view } from './store'
import { Shell } from './ui/shell'

const tallest = 800 // pixels, unless the host sets another limit: longer content scrolls

const host = connect(window, window.parent)
const about = signal<Context>({ variables: {}, mode: 'inline', modes: [] })
const instead = signal('Waiting for the plan…')
const passed = signal<'' | 'offered' | 'told'>('') // whether the decision made here was passed on to the agent

function App() {
  const fills = about.value.mode === 'fullscreen'
  return (
    <>
      <div class="app-bar">
        {passed.value === 'offered' && <span class="soft">The agent will see it with its next call. <button class="small" onClick={pass}>Tell it now</button></span>}
        {passed.value === 'told' && <span class="soft" role="status">Sent to the agent.</span>}
        {about.value.modes.includes('fullscreen') && <button class="quiet small" onClick={() => host.fill(fills ? 'inline' : 'fullscreen')}>{fills ? 'Back to the conversation' : 'Full window'}</button>}
      </div>
      {view.value ? <Shell /> : <p class="empty app-waits" role="status">{instead.value}</p>}
    </>
  )
}

async function pass(): Promise<void> {
  if (await host.tell('I have decided on the plan. Call planloop_status for the next action.')) passed.value = 'told'
}

// decides offers to report a decision to the agent, since the agent's turn may be over.
function decides(): void {
  const { act } = host.source
  host.source.act = async (workspace, log, name, input) => {
    const done = await act(workspace, log, name, input)
    if (host.tells() && ['approve', 'return', 'reject', 'regenerate', 'answer'].includes(name)) passed.value = 'offered'
    return done
  }
}

// The host's names of colours and fonts, by our names.
const colours: Record<string, string> = {
  '--paper': '--color-background-primary', '--over': '--color-background-primary', '--under': '--color-background-secondary',
  '--ink': '--color-text-primary', '--line': '--color-border-primary',
}
const fonts: Record<string, string> = { '--font': '--font-sans', '--mono': '--font-mono' }

// dress adopts the host's look. It ignores values that are neither colours nor lists of fonts.
function dress({ theme, variables }: Context): void {
  const root = document.documentElement
  if (theme) {
    root.style.colorScheme = theme
    for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) {
      if (rule instanceof CSSMediaRule && dark.has(rule)) rule.media.mediaText = theme === 'dark' ? 'all' : 'not all'
    }
  }
  const set = (ours: string, theirs: string, fits: (value: string) => boolean) => {
    const value = variables[theirs]
    if (value && fits(value)) root.style.setProperty(ours, value)
  }
  for (const [ours, theirs] of Object.entries(colours)) set(ours, theirs, value => CSS.supports('color', value))
  for (const [ours, theirs] of Object.entries(fonts)) set(ours, theirs, value => /^[\w\s,"'-]{1,200}$/.test(value))
}

// dark are the rules for a dark system, which the host's theme replaces.
const dark = new Set<CSSRule>()
for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) {
  if (rule instanceof CSSMediaRule && rule.media.mediaText.includes('prefers-color-scheme: dark')) dark.add(rule)
}

// follow tells the host the size that the page needs.
function follow(place: Element): void {
  let told = ''
  new ResizeObserver(() => {
    const { width, height } = place.getBoundingClientRect()
    const wanted = [Math.ceil(width), Math.ceil(Math.min(height, about.value.most ?? tallest))] as const
    if (about.value.mode === 'fullscreen' || told === wanted.join() || !wanted[1]) return
    told = wanted.join()
    host.size(...wanted)
  }).observe(place)
}

// submit sends forms where the frame forbids it: nothing leaves this document, but without it their listeners would not run.
function submit(e: MouseEvent): void {
  const button = e.target instanceof Element ? e.target.closest('button') : null
  if (e.defaultPrevented || button?.type !== 'submit' || !button.form) return
  e.preventDefault()
  if (button.form.reportValidity()) button.form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true, submitter: button }))
}

arrangeBy((steps, room) => Promise.resolve(layout(steps, room))) // its policy allows no worker
host.says(said => {
  about.value = { ...said, variables: { ...said.variables } }
  dress(said)
})
host.instead(text => { instead.value = text })
decides()
document.addEventListener('click', submit)
listen(document)
const place = document.getElementById('page')
if (place) {
  render(<App />, place)
  follow(place)
}
void host.shown.then(first => {
  showView(first)
  begin(host.source)
})
