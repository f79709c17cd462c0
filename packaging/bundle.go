package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// compile builds the program for a platform as in a release: the same bytes in any folder and on any machine.
func compile(ctx context.Context, root string, p platform, version, folder string) (path string, err error) {
	path = filepath.Join(folder, p.program())
	build := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, buildFlags(),
		[]string{"-ldflags", linkerFlags(version), "-o", path, "./cmd/planloop"})...)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.processor)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %s: %w\n%s", p, err, out)
	}
	return path, nil
}

// bundle makes the packages with the program, for npm and as a bundle for each platform, and the registry's entry with their digests.
func bundle(ctx context.Context, root, version string, wanted []platform) (files, error) {
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "planloop-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	others, err := licences(ctx, root)
	if err != nil {
		return nil, err
	}
	made := files{"npm/" + name + "/LICENSE": licence}
	for path, text := range npmPackages(version) {
		if folder, _, _ := strings.Cut(path, "/"); folder == name {
			made["npm/"+path] = text
		}
	}
	var bundles []object
	for _, p := range wanted {
		path, err := compile(ctx, root, p, version, dir)
		if err != nil {
			return nil, err
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		made["npm/"+p.npm()+"/package.json"] = npmPackages(version)[p.npm()+"/package.json"]
		made["npm/"+p.npm()+"/LICENSE"], made["npm/"+p.npm()+"/bin/"+p.program()] = licence, program
		made["npm/"+p.npm()+"/"+licencesFile] = others
		packed, err := zipped(files{"manifest.json": []byte(jsonText(manifest(p, version))), "LICENSE": licence, licencesFile: others,
			"server/" + p.program(): program}, "server/"+p.program())
		if err != nil {
			return nil, err
		}
		file := fmt.Sprintf("%s-%s-%s.mcpb", name, version, p.npm())
		digest := sha256.Sum256(packed)
		made[file] = packed
		bundles = append(bundles, object{{"registryType", "mcpb"},
			{"identifier", homepage + "/releases/download/v" + version + "/" + file},
			{"fileSha256", hex.EncodeToString(digest[:])}, {"transport", object{{"type", "stdio"}}}})
	}
	made["server.json"] = []byte(jsonText(serverEntry(version, bundles)))
	return made, nil
}

// manifest describes a bundle to a desktop host. It asks the user for the project's folder and for no secret.
func manifest(p platform, version string) object {
	program := "server/" + p.program()
	return object{
		{"manifest_version", "0.3"}, {"name", name}, {"display_name", name}, {"version", version},
		{"description", description}, {"long_description", details},
		{"author", object{{"name", owner}, {"url", homepage}}},
		{"repository", object{{"type", "git"}, {"url", homepage + ".git"}}},
		{"homepage", homepage}, {"documentation", homepage + "/tree/main/docs"}, {"support", homepage + "/issues"},
		{"server", object{{"type", "binary"}, {"entry_point", program}, {"mcp_config", object{{"command", "${__dirname}/" + program},
			{"args", []string{"serve", "--workspace", "${user_config.workspace}"}}, {"env", object{}}}}}},
		{"tools_generated", true}, {"prompts_generated", true}, {"keywords", keywords()}, {"license", license},
		{"compatibility", object{{"platforms", []string{p.npmSystem}}}},
		{"user_config", object{{"workspace", object{{"type", "directory"}, {"title", "Project"},
			{"description", "The folder of the project"}, {"required", true}}}}},
	}
}

// zipped packs files in a fixed order with a fixed time. Only program is executable.
func zipped(all files, program string) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		header := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(0o644)
		if path == program {
			header.SetMode(0o755)
		}
		file, err := w.CreateHeader(header)
		if err == nil {
			_, err = file.Write(all[path])
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// goreleaserConfig returns GoReleaser's configuration. Its delimiters differ from GoReleaser's, so that GoReleaser's templates stay.
func goreleaserConfig(wanted []platform) string {
	var targets, servers []string
	for _, p := range wanted {
		targets = append(targets, p.system+"_"+p.processor)
		if p.system == "linux" {
			servers = append(servers, p.system+"_"+p.processor)
		}
	}
	var b bytes.Buffer
	form := template.Must(template.New("goreleaser.yaml").Delims("[[", "]]").Parse(string(text("goreleaser.yaml"))))
	err := form.Execute(&b, map[string]any{
		"Name": name, "Owner": owner, "Homepage": homepage, "License": license, "Registry": registry,
		"Description": `"` + description + `"`, "LinkerFlags": linkerFlags("{{ .Version }}"),
		"BuildFlags": buildFlags(), "Platforms": targets, "Servers": servers,
		"Windows":         slices.ContainsFunc(wanted, func(p platform) bool { return p.system == "windows" }),
		"Documents":       []string{"LICENSE", "README.md", "CHANGELOG.md"},
		"ServerDocuments": []string{"LICENSE", "docs/guides/teams.md", "docs/reference/teamserver.md"},
	})
	if err != nil {
		panic("packaging: " + err.Error())
	}
	return strings.TrimLeft(b.String(), "\n")
}
