package command_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/testenv"
)

// certificate writes a certificate for 127.0.0.1 and its key, and returns a client that trusts it.
func certificate(t *testing.T) (cert, key string, client *http.Client) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	pair := server.TLS.Certificates[0]
	private := testenv.Must(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		testenv.Check(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", private), server.Client()
}

func TestServeOverTLS(t *testing.T) {
	cert, key, client := certificate(t)
	dsn := postgrestest.Start(t)
	for flags, want := range map[string]string{
		"--tls-cert " + cert:                      "give both or neither",
		"--tls-cert " + key + " --tls-key " + key: "the certificate cannot be used",
	} {
		_, err := run(t, dsn, append([]string{"serve", "--listen", "127.0.0.1:0"}, strings.Fields(flags)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flags, err)
		}
	}
	address, stop := serve(t, dsn, "--tls-cert", cert, "--tls-key", key)
	defer stop()
	answer := testenv.Must(client.Get("https://" + address + "/healthz"))(t)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("health over TLS: %s", answer.Status)
	}
	if answer, err := http.Get("http://" + address + "/healthz"); err == nil {
		if answer.Body.Close(); answer.StatusCode == http.StatusOK {
			t.Error("the server answers without TLS")
		}
	}
}

// TestRateOfAToken: more requests than its rate are refused with a time to wait, and another token's are not.
func TestRateOfAToken(t *testing.T) {
	dsn := postgrestest.Start(t)
	must(t, dsn, "team", "create", "blue")
	must(t, dsn, "member", "add", "blue", "ann", "--role", "admin")
	busy := strings.TrimSpace(must(t, dsn, "token", "create", "blue", "ann"))
	calm := strings.TrimSpace(must(t, dsn, "token", "create", "blue", "ann"))
	address, stop := serve(t, dsn, "--rate", "0.001")
	defer stop()
	refused := ""
	for range 100 {
		if refused = get(t, "http://"+address+"/v1/me", busy); !strings.Contains(refused, `"member":"ann"`) {
			break
		}
	}
	if !strings.Contains(refused, `"problem":"`) || !strings.Contains(refused, `"fix":"`) || strings.Contains(refused, `"member"`) {
		t.Errorf("the hundredth request was answered with %s", refused)
	}
	if got := get(t, "http://"+address+"/v1/me", calm); !strings.Contains(got, `"member":"ann"`) {
		t.Errorf("another token is refused with %s", got)
	}
}
