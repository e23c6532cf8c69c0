package telemetry

import (
	"log/slog"
	"strings"
	"testing"
)

func TestReadLogLevel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  env
		want slog.Level
	}{
		"DefaultsToInfo":              {env{}, slog.LevelInfo},
		"TakesDebug":                  {env{envLogLevel: "debug"}, slog.LevelDebug},
		"TakesWarn":                   {env{envLogLevel: "warn"}, slog.LevelWarn},
		"TakesErrorInAnyCase":         {env{envLogLevel: "ERROR"}, slog.LevelError},
		"HonoursRustLogWord":          {env{envRustLog: "warn"}, slog.LevelWarn},
		"HonoursRustLogOfTheProduct":  {env{envRustLog: "octostore=debug"}, slog.LevelDebug},
		"ReadsRustTraceAsDebug":       {env{envRustLog: "trace"}, slog.LevelDebug},
		"IgnoresRustLogOfOthers":      {env{envRustLog: "tower_http=debug"}, slog.LevelInfo},
		"IgnoresRustLogFilterList":    {env{envRustLog: "octostore=debug,tower_http=warn"}, slog.LevelInfo},
		"IgnoresRustLogOff":           {env{envRustLog: "off"}, slog.LevelInfo},
		"PrefersItsOwnVariable":       {env{envLogLevel: "error", envRustLog: "debug"}, slog.LevelError},
		"PrefersItsOwnInfoOverRustly": {env{envLogLevel: "info", envRustLog: "debug"}, slog.LevelInfo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readSettings(tc.env.get)
			if err != nil || got.logLevel != tc.want {
				t.Fatalf("level %v, error %v, want %v", got.logLevel, err, tc.want)
			}
		})
	}
}

func TestReadSettingsRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  env
		want []string // all have to be in the message
	}{
		"NamesLevelAndWords":   {env{envLogLevel: "verbose"}, []string{envLogLevel, `"verbose"`, "debug, info, warn and error"}},
		"NamesFormatAndWords":  {env{envLogFormat: "xml"}, []string{envLogFormat, `"xml"`, "json and text"}},
		"NamesRatioAndRange":   {env{envRemoteRatio: "1.5"}, []string{envRemoteRatio, `"1.5"`, "0 to 1"}},
		"RefusesNotANumber":    {env{envRemoteRatio: "NaN"}, []string{envRemoteRatio}},
		"RefusesNegativeRatio": {env{envRemoteRatio: "-0.1"}, []string{envRemoteRatio}},
		"ReportsAllAtOnce":     {env{envLogLevel: "x", envLogFormat: "y"}, []string{envLogLevel, envLogFormat}},
		"EscapesTheBadValue":   {env{envLogLevel: "a\nb"}, []string{`a\\nb`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readSettings(tc.env.get)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestExports(t *testing.T) {
	const url = "http://127.0.0.1:1"
	for name, tc := range map[string]struct {
		env                   env
		traces, metrics, logs bool
	}{
		"NothingWithoutVariables":      {env{}, false, false, false},
		"EverythingWithAnEndpoint":     {env{envEndpoint: url}, true, true, true},
		"OnlyTracesWithTheirEndpoint":  {env{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url}, true, false, false},
		"OnlyMetricsWithTheirEndpoint": {env{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": url}, false, true, false},
		"OnlyLogsWithTheirExporter":    {env{"OTEL_LOGS_EXPORTER": "otlp"}, false, false, true},
		"NoneGoesBeforeAnEndpoint":     {env{envEndpoint: url, "OTEL_TRACES_EXPORTER": "none"}, false, true, true},
		"DisabledGoesBeforeAll":        {env{envEndpoint: url, "OTEL_TRACES_EXPORTER": "otlp", envSDKDisabled: "TRUE"}, false, false, false},
		"DisabledFalseIsNotDisabled":   {env{envEndpoint: url, envSDKDisabled: "false"}, true, true, true},
		"OtherVariablesDoNotSwitchOn":  {env{"OTEL_SERVICE_NAME": "x", envSampler: "always_on"}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			processEnv(t, tc.env)
			s, err := readSettings(tc.env.get)
			if err != nil {
				t.Fatal(err)
			}
			if s.traces != tc.traces || s.metrics != tc.metrics || s.logs != tc.logs {
				t.Fatalf("traces %v metrics %v logs %v", s.traces, s.metrics, s.logs)
			}
		})
	}
	t.Run("RefusesAnEndpointThatTheExportersDoNotSee", func(t *testing.T) {
		processEnv(t, nil)
		_, err := readSettings(env{envEndpoint: url}.get)
		if err == nil || !strings.Contains(err.Error(), envEndpoint) {
			t.Fatalf("error %v", err)
		}
	})
}
