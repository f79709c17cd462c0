// Files of hosts, and their later content.
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// write writes a text, or a value as JSON.
export function write(folder, name, value) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value, null, 2) + '\n');
}

// contents returns the bytes of all files below a folder, and its folders, by name.
export function contents(folder) {
  const found = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    found[path] = entry.isFile() ? readFileSync(path, 'latin1') : 'a folder';
  }
  return found;
}

// tree describes everything below a folder but its repository: contents, modes and times.
export function tree(folder) {
  const entries = Object.entries({ [folder]: 'a folder', ...contents(folder) }).filter(([path]) => !path.startsWith(join(folder, '.git')));
  return Object.fromEntries(
    entries.map(([path, content]) => {
      const { mode, mtimeNs } = lstatSync(path, { bigint: true });
      return [path, `${mode.toString(8)} ${mtimeNs} ${content}`];
    }),
  );
}
