package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamserver"
)

// stopWithin bounds how long the server waits for its requests when it stops.
const stopWithin = 20 * time.Second

type serveFlags struct {
	teamserver.Options
	listen, cert, key, metrics, secretFile string
	privateWebhooks                        bool
}

func serve(c *commands) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{Use: "serve", Short: "Serve the teams of the database", Args: cobra.NoArgs,
		Long: `Serve the teams of the database over HTTP until SIGTERM or Ctrl-C.

Several servers may share a database: put them behind a load balancer. The certificate is read again for each
connection, so it can be renewed without a restart. Without one, listen only where a proxy adds TLS.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd, f) }}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8443", "address to listen on, as HOST:PORT")
	flags.StringVar(&f.Address, "address", "", "public address of the page where people decide, as https://plans.example.com")
	flags.StringVar(&f.Provider.Issuer, "oidc-issuer", "",
		"OpenID Connect provider of accounts to sign in with, as https://login.example.com")
	flags.StringVar(&f.Provider.Client, "oidc-client", "",
		"this server's client id at the provider; it returns people to ADDRESS/signin/account")
	flags.StringVar(&f.secretFile, "oidc-secret-file", "", "file with the client's secret")
	flags.StringVar(&f.cert, "tls-cert", "", "file with the certificate and those between it and the root")
	flags.StringVar(&f.key, "tls-key", "", "file with the certificate's key")
	flags.StringVar(&f.metrics, "metrics", "", "address for /metrics, which asks for no token; empty: none")
	flags.BoolVar(&f.privateWebhooks, "private-webhooks", false, "allow webhooks at private addresses, such as a chat's in this network")
	flags.Float64Var(&f.Rate, "rate", 0, "requests per second of a token (default 50)")
	return cmd
}

func (c *commands) serve(cmd *cobra.Command, f serveFlags) error {
	if (f.cert == "") != (f.key == "") {
		return errors.New("only one of --tls-cert and --tls-key is given; give both or neither")
	}
	if err := f.readSecret(); err != nil {
		return err
	}
	ctx := cmd.Context()
	logger := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
	db, err := postgres.Open(ctx, c.dsn, postgres.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer db.Close()
	if f.Logger = logger; f.privateWebhooks {
		f.Webhooks = &http.Client{}
	}
	server, err := teamserver.New(ctx, db, f.Options)
	if err != nil {
		return err
	}
	defer server.Close()
	failed := make(chan error, 2)
	main, err := listen(f.listen, server.Handler(), f, logger, failed)
	if err != nil {
		return err
	}
	main.RegisterOnShutdown(server.EndStreams)
	logger.Info("serving", "address", main.Addr, "tls", f.cert != "")
	if host, _, _ := net.SplitHostPort(main.Addr); f.cert == "" && !net.ParseIP(host).IsLoopback() {
		logger.Warn("tokens and plans are unencrypted unless a proxy adds TLS; add --tls-cert and --tls-key, or listen on 127.0.0.1")
	}
	if f.Address == "" {
		logger.Warn("without --address the server has no page, so people cannot sign in and approve; add the public address of this server")
	}
	all := []*http.Server{main}
	if f.metrics != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", server.MetricsHandler())
		metrics, err := listen(f.metrics, mux, serveFlags{}, logger, failed)
		if err != nil {
			return errors.Join(err, main.Close())
		}
		all = append(all, metrics)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	logger.Info("stopping")
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	for _, each := range all {
		if each.Shutdown(patience) != nil {
			each.Close()
		}
	}
	return err
}

// readSecret checks the provider of accounts, if there is one, and reads its client's secret.
func (f *serveFlags) readSecret() error {
	of := &f.Provider
	switch {
	case of.Issuer == "" && of.Client == "" && f.secretFile == "":
		return nil
	case of.Issuer == "" || of.Client == "" || f.secretFile == "" || f.Address == "":
		return errors.New("accounts need all of --oidc-issuer, --oidc-client, --oidc-secret-file and --address")
	case !strings.HasPrefix(of.Issuer, "https://"):
		return errors.New("--oidc-issuer does not begin with https://; give the provider's issuer address")
	}
	secret, err := os.ReadFile(f.secretFile)
	of.Secret = strings.TrimSpace(string(secret))
	if err == nil && of.Secret == "" {
		err = fmt.Errorf("%s is empty; write the client's secret into it", f.secretFile)
	}
	return err
}

// listen serves a handler on an address until the server is shut down; a failure is sent to failed.
func listen(address string, handler http.Handler, f serveFlags, logger *slog.Logger, failed chan<- error) (*http.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := origin.NewServer(handler, logger)
	s.Addr, s.ReadTimeout = listener.Addr().String(), time.Minute
	if f.cert != "" {
		if _, err := tls.LoadX509KeyPair(f.cert, f.key); err != nil {
			return nil, errors.Join(fmt.Errorf("the certificate cannot be used: %w", err), listener.Close())
		}
		s.TLSConfig = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.cert, f.key)
			return &pair, err
		}}
	}
	go func() {
		var err error
		if f.cert != "" {
			err = s.ServeTLS(listener, "", "")
		} else {
			err = s.Serve(listener)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return s, nil
}
