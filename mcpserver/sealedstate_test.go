package mcpserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/mcpserver"
)

func claims() mcpserver.SealClaims {
	return mcpserver.SealClaims{Tool: "planning_submit_plan", Arguments: mcpserver.Fingerprint([]byte(`{}`)), Request: "R7",
		Digest: "abc", Expires: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
}

func TestSealed(t *testing.T) {
	s, err := mcpserver.NewSealer()
	testenv.Check(t, err)
	token, err := s.Seal(claims())
	testenv.Check(t, err)
	got, err := s.Unseal(token)
	testenv.Check(t, err)
	if diff := cmp.Diff(claims(), got); diff != "" {
		t.Error(diff)
	}
	other, err := mcpserver.NewSealer()
	testenv.Check(t, err)
	if _, err := other.Unseal(token); !errors.Is(err, mcpserver.ErrSealInvalid) {
		t.Errorf("a foreign token gives %v", err)
	}
	for i := range token { // each changed character, and each prefix
		changed := []byte(token)
		changed[i] ^= 1
		for _, bad := range []string{string(changed), token[:i]} {
			if _, err := s.Unseal(bad); !errors.Is(err, mcpserver.ErrSealInvalid) {
				t.Fatalf("%q gives %v", bad, err)
			}
		}
	}
}

// TestATokenHasOneSpelling tries tokens that a lenient base64 decoder reads like the original.
func TestATokenHasOneSpelling(t *testing.T) {
	s, err := mcpserver.NewSealer()
	testenv.Check(t, err)
	token, err := s.Seal(claims())
	testenv.Check(t, err)
	for at := range len(token) + 1 {
		for _, extra := range []string{"\n", "\r", "\r\n", "=", " ", "\x00", ".", "\u200b"} {
			bad := token[:at] + extra + token[at:]
			if _, err := s.Unseal(bad); !errors.Is(err, mcpserver.ErrSealInvalid) {
				t.Fatalf("%q gives %v", bad, err)
			}
		}
	}
}

// TestKeyIsShared opens one folder from many sides at once.
func TestKeyIsShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var tokens [8]string
	var wait sync.WaitGroup
	for i := range tokens {
		wait.Go(func() {
			s, err := mcpserver.OpenSealer(dir)
			if err != nil {
				t.Error(err)
				return
			}
			tokens[i], err = s.Seal(claims())
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, token := range tokens {
		if token != tokens[0] {
			t.Fatal("two servers seal with different keys")
		}
	}
	info, err := os.Stat(filepath.Join(dir, "approval.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
}

func TestForeignKeyFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "approval.key"), []byte("short"), 0o600))
	if _, err := mcpserver.OpenSealer(dir); err == nil {
		t.Error("a file that is no key was taken for one")
	}
}

func FuzzUnseal(f *testing.F) {
	s, err := mcpserver.NewSealer()
	if err != nil {
		f.Fatal(err)
	}
	token, err := s.Seal(claims())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add("")
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.Unseal(text); err == nil && text != token {
			t.Fatalf("%q was believed", text)
		}
	})
}
