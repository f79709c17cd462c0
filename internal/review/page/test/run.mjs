// Bundles the tests, since they are TypeScript, and runs them with node's own runner.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

const here = import.meta.dirname
const out = mkdtempSync(join(tmpdir(), 'planloop-page-'))
const tests = readdirSync(here).filter(name => name.endsWith('.test.ts'))
await build({
  entryPoints: tests.map(name => join(here, name)), outdir: out, outExtension: { '.js': '.mjs' },
  bundle: true, format: 'esm', platform: 'node', jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning',
})
const { status } = spawnSync(process.execPath, ['--test', ...tests.map(name => join(out, name.replace('.ts', '.mjs')))], { stdio: 'inherit' })
rmSync(out, { recursive: true })
process.exit(status ?? 1)
