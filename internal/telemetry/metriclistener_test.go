package telemetry

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMetricListener(t *testing.T) {
	t.Run("ServesTheRegistryUntilTheShutdown", func(t *testing.T) {
		processEnv(t, env{"OTEL_METRICS_EXPORTER": "prometheus", envPrometheusPort: "0"})
		var log bytes.Buffer
		tel, err := Start(t.Context(), Config{LogWriter: &log})
		if err != nil {
			t.Fatal(err)
		}
		tel.Metrics().RequestDone(campaignRoute, "POST", 200, "", time.Millisecond, false)
		address, _ := logLines(t, &log)[0]["address"].(string)
		if host, _, err := net.SplitHostPort(address); err != nil || !net.ParseIP(host).IsLoopback() {
			t.Fatalf("listens on %q, which is not loopback", address)
		}
		get := func(path string) (int, string) {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Close = true
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return 0, ""
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return answer.StatusCode, string(body)
		}
		if status, body := get("/metrics"); status != http.StatusOK || !strings.Contains(body, "octostore_http_requests_total") {
			t.Errorf("status %d, body %q", status, body)
		}
		if status, _ := get("/"); status != http.StatusNotFound {
			t.Errorf("status %d for another path", status)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if status, _ := get("/metrics"); status != 0 {
			t.Error("still served after the shutdown")
		}
	})
	t.Run("RefusesTheStartOnATakenPort", func(t *testing.T) {
		taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		_, port, err := net.SplitHostPort(taken.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		processEnv(t, env{"OTEL_METRICS_EXPORTER": "prometheus", envPrometheusHost: "127.0.0.1", envPrometheusPort: port})
		if _, err := Start(t.Context(), Config{LogWriter: t.Output()}); err == nil || !strings.Contains(err.Error(), envPrometheusPort) {
			t.Fatalf("error %v", err)
		}
	})
}
