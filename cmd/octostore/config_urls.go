package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// githubCallbackPath is the one path that GitHub sends browsers back to.
	githubCallbackPath = "/auth/github/callback"
	// hostedAPI is the origin of the hosted service, and hostedDashboard the page
	// that belongs to it. No other deployment may send its people there.
	hostedAPI       = "https://api.octostore.io"
	hostedDashboard = "https://octostore.io/dashboard.html"
)

// settleGitHub judges the variables of the sign-in together.
func (e *environment) settleGitHub() error {
	if e.has(varGitHubID) != e.has(varGitHubSecret) {
		set, missing := varGitHubID, varGitHubSecret
		if e.has(varGitHubSecret) {
			set, missing = missing, set
		}
		return fmt.Errorf("%s: it is not set although %s is; set both for the sign-in with GitHub, or neither", missing, set)
	}
	if !e.has(varGitHubID) {
		for _, name := range []string{varDashboard, varAdminUsername} {
			if e.has(name) {
				return fmt.Errorf("%s: it only has a meaning with the sign-in with GitHub; set %s and %s too, or remove it", name, varGitHubID, varGitHubSecret)
			}
		}
		return nil
	}

	callback, err := parseBrowserURL(e.githubRedirect)
	if err == nil && callback.EscapedPath() != githubCallbackPath {
		err = errors.New("its path is not " + githubCallbackPath)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", varGitHubRedirect, allowed(err, "https://HOST"+githubCallbackPath+", or http with a loopback host"))
	}
	origin := originOf(callback)

	page := e.dashboardURL
	if page == "" {
		if origin != hostedAPI {
			return fmt.Errorf("%s: it is required with the sign-in with GitHub; set it to the address of the dashboard page that people return to", varDashboard)
		}
		page = hostedDashboard
	}
	dashboard, err := parseBrowserURL(page)
	if err != nil {
		return fmt.Errorf("%s: %w", varDashboard, allowed(err, "https://HOST/PATH, or http with a loopback host"))
	}
	// The dashboard calls from where it is served.
	if from := originOf(dashboard); !slices.Contains(e.config.CORSOrigins, from) {
		e.config.CORSOrigins = append(e.config.CORSOrigins, from)
	}
	e.config.GitHub = githubConfig{
		ClientID:      e.githubID,
		ClientSecret:  e.githubSecret,
		RedirectURI:   callback.String(),
		APIOrigin:     origin,
		DashboardURL:  strings.TrimRight(dashboard.String(), "/"),
		AdminUsername: e.adminUsername,
	}
	return nil
}

// parseBrowserURL takes an absolute URL that a browser may be sent to with a
// sign-in under way: https, or http to this very host, and nothing in it but the
// place. Its errors do not quote the URL, which may have a password in it.
func parseBrowserURL(value string) (*url.URL, error) {
	value = strings.TrimSpace(value)
	u, err := parseURL(value)
	if err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, errors.New("it has credentials in it")
	case strings.ContainsAny(value, "?#"):
		return nil, errors.New("it has a query or a fragment")
	case u.Scheme == "http" && !isLoopbackName(u.Hostname()):
		return nil, errors.New("it uses http to a host that is not loopback")
	}
	return u, nil
}

// parseURL takes an absolute http or https URL with a host.
func parseURL(value string) (*url.URL, error) {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Opaque != "" || !isHost(u.Hostname()) {
		return nil, errors.New("it is not an absolute http or https URL")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("its port is not a number from 1 to 65535")
		}
	}
	return u, nil
}

// isLoopbackName tells whether a URL's host can only be this host.
func isLoopbackName(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && addr.IsLoopback())
}

// originOf returns a URL's origin as browsers write it (RFC 6454, section 6.2):
// lower case, the port left out where it is the scheme's own.
func originOf(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return u.Scheme + "://" + net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host
}

// parseOrigins takes a comma-separated list of origins, each spelled as a browser
// sends it: they are compared byte for byte, so another spelling would never match.
// A blank list has no origin.
func parseOrigins(value string) ([]string, error) {
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	var origins []string
	for i, entry := range strings.Split(value, ",") {
		entry = strings.TrimSpace(entry)
		u, err := parseURL(entry)
		if err == nil && originOf(u) != entry {
			err = errors.New("it is more than an origin, or not spelled as browsers do")
		}
		if err != nil {
			return nil, allowed(fmt.Errorf("entry %d: %w", i+1, err), "scheme://host or scheme://host:port in lower case, without a path, a default port or a wildcard, such as https://app.example.com")
		}
		if !slices.Contains(origins, entry) {
			origins = append(origins, entry)
		}
	}
	return origins, nil
}
