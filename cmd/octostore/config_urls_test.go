package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/auth"
)

// github is the least that switches the sign-in on.
func github() variables {
	return variables{
		"GITHUB_CLIENT_ID":     "id",
		"GITHUB_CLIENT_SECRET": canary,
		"OAUTH_DASHBOARD_URL":  "https://app.example.com/dashboard.html",
	}
}

func TestConfigGitHub(t *testing.T) {
	t.Parallel()

	t.Run("SelfHosted", func(t *testing.T) {
		t.Parallel()
		env := github().
			with("GITHUB_REDIRECT_URI", "https://API.example.com:8443/auth/github/callback").
			with("OAUTH_DASHBOARD_URL", "https://app.example.com/dash/").
			with("ADMIN_USERNAME", " Octocat ").
			with("CORS_ORIGINS", "https://other.example.com")
		c, _ := mustLoad(t, env)
		want := githubConfig{
			ClientID: "id", ClientSecret: auth.NewSecret(canary),
			RedirectURI: "https://API.example.com:8443/auth/github/callback", APIOrigin: "https://api.example.com:8443",
			DashboardURL: "https://app.example.com/dash", AdminUsername: "Octocat",
		}
		if diff := cmp.Diff(want, c.GitHub, cmp.AllowUnexported(auth.Secret{})); diff != "" {
			t.Errorf("GitHub (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"https://other.example.com", "https://app.example.com"}, c.CORSOrigins); diff != "" {
			t.Errorf("origins (-want +got):\n%s", diff)
		}
	})

	t.Run("HostedServiceKnowsItsDashboard", func(t *testing.T) {
		t.Parallel()
		env := variables{"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": "s"}
		for _, redirect := range []string{"https://api.octostore.io/auth/github/callback", "https://API.octostore.io:443/auth/github/callback"} {
			c, _ := mustLoad(t, env.with("GITHUB_REDIRECT_URI", redirect))
			if c.GitHub.DashboardURL != "https://octostore.io/dashboard.html" || !cmp.Equal(c.CORSOrigins, []string{"https://octostore.io"}) {
				t.Errorf("%s: %+v, %v", redirect, c.GitHub, c.CORSOrigins)
			}
		}
	})

	t.Run("LoopbackMayUseHTTP", func(t *testing.T) {
		t.Parallel()
		for _, base := range []string{"http://localhost:3000", "http://LOCALHOST", "http://127.0.0.1:3000", "http://127.1.2.3", "http://[::1]:3000"} {
			c, _ := mustLoad(t, github().with("GITHUB_REDIRECT_URI", base+"/auth/github/callback").with("OAUTH_DASHBOARD_URL", base+"/dashboard.html"))
			if c.GitHub.DashboardURL != base+"/dashboard.html" {
				t.Errorf("%s: dashboard %q", base, c.GitHub.DashboardURL)
			}
		}
	})

	t.Run("RedirectDoesNotMatterWithoutIt", func(t *testing.T) {
		t.Parallel()
		if c, _ := mustLoad(t, variables{"GITHUB_REDIRECT_URI": "nonsense"}); c.GitHub.enabled() {
			t.Error("GitHub is on")
		}
	})

	t.Run("DoesNotListAnOriginTwice", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, github().with("CORS_ORIGINS", "https://app.example.com"))
		if len(c.CORSOrigins) != 1 {
			t.Errorf("origins %v", c.CORSOrigins)
		}
	})
}
