// Keeps what hosts send to planloop's servers and hooks, to see how a session can be recognized.
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// record puts a script in planloop's place that keeps the input of servers and hooks in files. The processes stay the same.
export function record(program, folder) {
  mkdirSync(folder);
  renameSync(program, `${program}-whole`);
  writeFileSync(
    program,
    `#!/bin/bash
case "$1" in
serve | hook)
	exec 3<&0
	exec '${program}-whole' "$@" < <(exec tee "${folder}/$1 $$ $2 $3" <&3)
	;;
esac
exec '${program}-whole' "$@"
`,
  );
  chmodSync(program, 0o755);
}

// recorded returns a line for each call of a tool, as the servers got it, and for each call of a hook.
export function recorded(folder) {
  return readdirSync(folder).flatMap((name) => {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n').filter((line) => line.startsWith('{'));
    return lines.flatMap((line) => told(name.trim(), JSON.parse(line)));
  });
}

function told(from, { method, params, ...payload }) {
  if (method === 'tools/call') {
    const own = Object.entries(params._meta ?? {}).filter(([key]) => !key.startsWith('io.modelcontextprotocol/'));
    const { 'x-codex-turn-metadata': turn, ...meta } = Object.fromEntries(own);
    const named = turn && { session_id: turn.session_id, thread_id: turn.thread_id, parent_thread_id: turn.parent_thread_id };
    return `${from}: ${params.name} _meta ${JSON.stringify({ ...meta, ...(named && { 'x-codex-turn-metadata': named }) })}`;
  }
  if (method || !payload.session_id) return [];
  const { session_id, agent_id, tool_use_id, tool_name, source } = payload;
  return `${from}: ${JSON.stringify({ session_id, agent_id, tool_use_id, tool_name, source })}`;
}
