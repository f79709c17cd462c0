package shell

import (
	"strings"
	"sync"
)

// why is what is said of a command that is known, and not to read.
type why struct{ reason, instead string }

// refused are well-known commands that do not only read, with what to use instead.
var refused = sync.OnceValue(func() map[string]why {
	table := map[string]why{}
	for _, group := range []struct{ names, reason, instead string }{
		{"rm rmdir unlink shred mv cp mkdir touch chmod chown chgrp ln install mktemp mkfifo mknod truncate dd split csplit rsync rename setfacl chattr", "changes files", "ls -la"},
		{"tee", "writes files", "cat FILE"},
		{"eval source . trap exec alias unalias enable hash bind complete compgen mapfile readarray unset getopts fc history shopt coproc caller dot", "can run text as commands", ""},
		{"bash sh zsh dash ksh fish csh tcsh busybox toybox", "runs text as commands; give the commands themselves", ""},
		{"python python2 python3 perl ruby node deno bun php lua Rscript julia osascript pwsh tclsh expect java", "runs programs", "cat FILE"},
		{"curl wget nc ncat netcat socat telnet ftp sftp scp ssh ping dig nslookup host gh glab aria2c traceroute", "uses the network", ""},
		{"make cmake ninja gradle mvn ant bazel npm npx pnpm yarn pip pip3 pipx uv poetry cargo rustc gcc clang cc tsc webpack vite jest pytest tox rake bundle gem composer dotnet swift zig", "builds, runs or installs", "ls"},
		{"apt apt-get dpkg yum dnf pacman apk brew snap flatpak port nix", "changes the system", ""},
		{"docker podman kubectl helm systemctl service launchctl terraform ansible aws gcloud az vagrant", "changes what runs elsewhere", ""},
		{"vi vim nvim nano emacs ed ex pico joe micro code view", "is an editor", "cat FILE"},
		{"sudo su doas pkexec runuser chroot unshare nsenter setpriv", "runs with other rights", ""},
		{"nohup setsid disown bg fg at batch crontab screen tmux script watch parallel entr", "runs commands aside", ""},
		{"kill killall pkill reboot shutdown halt poweroff mount umount", "changes what runs", "ps aux"},
		{"sqlite3 psql mysql mongo redis-cli duckdb", "can write data and run commands", ""},
		{"ack", "takes options out of the workspace", "grep -rn PATTERN ."},
		{"dc", "can run commands", "expr 1 + 2"},
		{"zip 7z rar cpio ar pax", "writes archives", "tar -tf FILE"},
		{"ll la", "is a name of one shell only", "ls -la"},
		{"open xdg-open start", "opens programs", "cat FILE"},
		{"patch", "changes files", "git apply --stat FILE"},
	} {
		for name := range strings.FieldsSeq(group.names) {
			table[name] = why{group.reason, group.instead}
		}
	}
	return table
})
