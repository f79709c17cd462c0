// The entry of the page.

import { effect } from '@preact/signals'
import { render } from 'preact'
import { arrange, arrangeBy, byWorker, many } from './graph/arrange'
import { enter, httpSource, launched } from './http'
import { listen } from './keys'
import { keepPlace } from './location'
import { asFault } from './source'
import { begin, fault, shown } from './store'
import { Shell } from './ui/shell'
import { keepUnsent } from './unsent'

const entered = enter() // takes the code out of the address bar before anything else
arrangeBy(byWorker('/graph.js'))
prepareGraph()
const place = document.getElementById('page')
place?.replaceChildren() // the frame that index.html shows until now
if (place) render(<Shell />, place)
listen(document)
entered.catch((e: unknown) => { fault.value = asFault(e) }).finally(() => {
  begin(httpSource())
  keepPlace(window)
  keepUnsent()
})
addEventListener('hashchange', () => { if (launched()) enter().then(() => location.reload(), (e: unknown) => { fault.value = asFault(e) }) }) // a link into this very tab

// prepareGraph has the worker draw the first large plan once while the user reads: a worker's first layout takes three times as long.
function prepareGraph(): void {
  const stop = effect(() => {
    const steps = shown.value?.steps ?? []
    if (steps.length <= many) return
    setTimeout(() => {
      stop()
      const room = { width: innerWidth - 290, height: Math.min(1000, innerHeight - 220) - 40 } // about as in style.css: another shape only costs time
      arrange(steps.map(s => ({ n: s.number, after: s.depends_on ?? [] })), room).catch(() => {})
    }, 300)
  })
}
