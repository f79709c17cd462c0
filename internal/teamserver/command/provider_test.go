package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAccountsAreConfiguredCompletely fails if the server starts without something that a sign-in needs.
func TestAccountsAreConfiguredCompletely(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const issuer, address = "--oidc-issuer=https://login.example.com", "--address=https://plans.example.com"
	for _, test := range []struct{ args, want string }{
		{issuer, "all of"},
		{issuer + " --oidc-client=planloop --oidc-secret-file=" + empty, "all of"},
		{address + " --oidc-client=planloop --oidc-secret-file=" + empty, "all of"},
		{address + " --oidc-issuer=http://login.example.com --oidc-client=planloop --oidc-secret-file=" + empty, "https://"},
		{address + " " + issuer + " --oidc-client=planloop --oidc-secret-file=" + empty, "is empty"},
		{address + " " + issuer + " --oidc-client=planloop --oidc-secret-file=" + empty + "2", "no such file"},
	} {
		_, err := run(t, "unused", append([]string{"serve"}, strings.Fields(test.args)...)...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.args, err)
		}
	}
}
