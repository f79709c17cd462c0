package workspace

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// system is the system on which a path will be used.
type system struct {
	os     string // as in GOOS
	distro string // of WSL, "" outside
}

const wslShare = `\\wsl.localhost\` // where Windows shows the files of WSL; it also has an older name

// path converts a host's directory to a path of this system. It may be a URI, or a path of the other side of WSL if the
// host runs there. Names that mean nothing here are refused; paths of this system are returned unchanged.
func (s system) path(given string) (path string, ok bool) {
	if strings.ContainsRune(given, 0) {
		return "", false
	}
	if isURI(given) {
		if given, ok = s.ofURI(given); !ok {
			return "", false
		}
	}
	slashed := strings.ReplaceAll(given, `\`, "/")
	switch s.os {
	case "windows":
		return s.onWindows(given, slashed), true
	case "linux":
		return s.onLinux(given, slashed)
	}
	return given, true
}

func isURI(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && !strings.ContainsAny(scheme, `/\`) || len(text) > 5 && strings.EqualFold(text[:5], "file:")
}

// ofURI returns the path that a URI names. A ? or # is part of the name: not every host escapes them.
func (s system) ofURI(uri string) (path string, ok bool) {
	scheme, rest, _ := strings.Cut(uri, ":")
	host := ""
	if below, ok := strings.CutPrefix(rest, "//"); ok {
		rest = below
		if !strings.HasPrefix(rest, "/") && !hasDrive(rest) {
			slash := strings.IndexByte(rest+"/", '/')
			host, rest = unescaped(rest[:slash]), rest[slash:]
		}
	}
	rest = unescaped(rest)
	if drive := strings.TrimPrefix(rest, "/"); hasDrive(drive) {
		rest = drive
	} else if !strings.HasPrefix(rest, "/") {
		return "", false
	}
	distro, inWSL := strings.CutPrefix(host, "wsl+") // vscode-remote://wsl+Ubuntu/home/ann
	switch {
	case strings.EqualFold(scheme, "vscode-remote") && inWSL:
		return "//wsl.localhost/" + distro + rest, true
	case !strings.EqualFold(scheme, "file"):
		return "", false
	case host == "" || strings.EqualFold(host, "localhost"):
		return rest, true
	}
	return "//" + host + rest, s.os == "windows" || s.os == "linux" && s.distro != "" // another machine's
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil && !strings.ContainsRune(plain, 0) {
		return plain
	}
	return text
}

// onWindows converts the drive names of shells and WSL, and the older name of WSL's share.
func (s system) onWindows(given, slashed string) string {
	for _, before := range []string{"//?/", "/mnt/", "/cygdrive/", "/"} {
		rest, ok := strings.CutPrefix(slashed, before)
		if !ok {
			continue
		}
		if hasDrive(rest) {
			return strings.ReplaceAll(rest, "/", `\`)
		}
		if drive, below, ok := splitMount("/mnt/" + rest); ok && before != "//?/" {
			return strings.ToUpper(drive) + `:\` + strings.ReplaceAll(strings.TrimPrefix(below, "/"), "/", `\`)
		}
	}
	if share, below, ok := splitWSL(slashed); ok {
		return wslShare + share + `\` + strings.ReplaceAll(below, "/", `\`)
	}
	if hasDrive(slashed) || strings.HasPrefix(slashed, "//") {
		return strings.ReplaceAll(slashed, "/", `\`)
	}
	return given
}

// onLinux converts the paths of the Windows around WSL. It only knows drives mounted below /mnt.
func (s system) onLinux(given, slashed string) (string, bool) {
	slashedDrive := strings.TrimPrefix(slashed, "/")
	if hasDrive(slashedDrive) {
		return "/mnt/" + strings.ToLower(slashedDrive[:1]) + strings.TrimSuffix(slashedDrive[2:], "/"), true
	}
	if distro, below, ok := splitWSL(slashed); ok {
		return "/" + below, s.distro != "" && strings.EqualFold(distro, s.distro)
	}
	return given, true
}

// hasDrive reports whether a path begins with a Windows drive.
func hasDrive(path string) bool {
	return len(path) >= 2 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z') &&
		(len(path) == 2 || path[2] == '/' || path[2] == '\\')
}

// splitWSL splits a path on Windows' share of WSL.
func splitWSL(slashed string) (distro, below string, ok bool) {
	for _, share := range []string{"//wsl.localhost/", "//wsl$/"} {
		if len(slashed) > len(share) && strings.EqualFold(slashed[:len(share)], share) {
			distro, below, _ = strings.Cut(slashed[len(share):], "/")
			return distro, below, distro != ""
		}
	}
	return "", "", false
}

// isSystemPath reports whether a path is below folders where programs are installed, or below a program's hidden folder in the home
// directory. Windows and macOS ignore the case of names.
func isSystemPath(os, path, home string) bool {
	path, home = strings.ReplaceAll(path, `\`, "/"), strings.ReplaceAll(home, `\`, "/")
	if drive, below, ok := splitMount(path); ok && os == "linux" { // of Windows, seen from WSL
		os, path, home = "windows", drive+":"+below, drive+":"+windowsHome(below)
		if below == "" || strings.EqualFold(path, home) {
			return true
		}
	}
	if os != "linux" {
		path, home = strings.ToLower(path), strings.ToLower(home)
	}
	if below, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		first, _, _ := strings.Cut(below, "/")
		return strings.HasPrefix(first, ".") || os == "windows" && first == "appdata" || os == "darwin" && first == "library"
	}
	if os == "windows" && hasDrive(path) {
		path = path[2:]
	}
	return slices.ContainsFunc(systemFolders(os), func(folder string) bool { return strings.HasPrefix(path+"/", folder+"/") })
}

func systemFolders(os string) []string {
	switch os {
	case "windows":
		return []string{"/windows", "/program files", "/program files (x86)", "/programdata"}
	case "darwin":
		return []string{"/applications", "/system", "/library", "/usr", "/bin", "/sbin", "/opt"}
	}
	return []string{"/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/share",
		"/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/opt", "/snap", "/etc", "/proc", "/sys", "/dev"}
}

// splitMount splits a path on a Windows drive as WSL shows it.
func splitMount(path string) (drive, below string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/mnt/")
	drive, below, _ = strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if below != "" {
		below = "/" + below
	}
	return drive, below, ok && hasDrive(drive+":") && len(drive) == 1
}

// windowsHome returns the home directory that contains a Windows path; both are without drive.
func windowsHome(path string) string {
	parts := strings.SplitN(path, "/", 4) // "", Users, ann, …
	if len(parts) < 3 || !strings.EqualFold(parts[1], "users") {
		return "/"
	}
	return "/" + parts[1] + "/" + parts[2]
}

// diskSpelling returns path as the file system spells it. The usual file system of macOS also opens /Users/ann/Code as
// /users/ann/code, and so do Windows drives in WSL, and both must be one workspace. On Windows, resolving symlinks
// already yields this spelling; elsewhere names differ if their bytes do.
func diskSpelling(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS != "darwin" && !ignoresCase(path) {
		return path
	}
	return spellPath(path, listNames)
}

// ignoresCase reports whether the disk ignores the case of the last name in a path that has letters.
func ignoresCase(path string) bool {
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		name := filepath.Base(at)
		other := strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, name)
		if other == name {
			continue
		}
		one, err := os.Stat(at)
		if err != nil {
			return false
		}
		same, err := os.Stat(filepath.Join(filepath.Dir(at), other))
		return err == nil && os.SameFile(one, same)
	}
	return false
}

// spellPath replaces each element of path by the only entry of its folder, if listable, that equals it but for case and Unicode form.
func spellPath(path string, list func(dir string) []string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	parent = spellPath(parent, list)
	name := filepath.Base(path)
	var alike []string
	for _, other := range list(parent) {
		if other == name {
			return filepath.Join(parent, name)
		}
		if strings.EqualFold(norm.NFC.String(other), norm.NFC.String(name)) {
			alike = append(alike, other)
		}
	}
	if len(alike) == 1 {
		name = alike[0]
	}
	return filepath.Join(parent, name)
}

func listNames(dir string) []string {
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer folder.Close()
	all, _ := folder.Readdirnames(-1)
	return all
}
