//go:build browser

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// tab is one page in a browser of its own, and what was seen of it.
type tab struct {
	t       *testing.T
	ctx     context.Context
	browser *browser
	session string

	mu         sync.Mutex
	requested  []string // by the page, to anywhere
	left       []string // arrived at the proxy, from the page or from the browser itself
	complaints []string // console errors, exceptions, violations
}

func openTab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	tb := &tab{t: t, ctx: ctx}
	tb.browser = startBrowser(t, tb.startProxy(), tb.observe)

	var target struct{ TargetID string }
	tb.must(tb.browser.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	var attached struct{ SessionID string }
	tb.must(tb.browser.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	tb.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Log", "Runtime"} {
		tb.must(tb.browser.call(ctx, tb.session, domain+".enable", nil, nil))
	}
	tb.must(tb.browser.call(ctx, tb.session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{
		"source": `window.octostoreViolations = [];
			document.addEventListener('securitypolicyviolation', e => octostoreViolations.push(
				e.effectiveDirective + ' ' + (e.blockedURI || '') + ' ' + (e.sourceFile || '') + ':' + e.lineNumber));`,
	}, nil))
	return tb
}

func (tb *tab) must(err error) {
	tb.t.Helper()
	if err != nil {
		tb.t.Fatal(err)
	}
}

// startProxy listens where the browser is told to send everything that is not on a
// loopback address, notes it and hangs up.
func (tb *tab) startProxy() string {
	tb.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	tb.must(err)
	proxy := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tb.mu.Lock()
			tb.left = append(tb.left, r.Method+" "+r.URL.String())
			tb.mu.Unlock()
			http.Error(w, "offline", http.StatusBadGateway)
		}),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = proxy.Serve(listener)
	}()
	tb.t.Cleanup(func() {
		_ = proxy.Close()
		<-served
	})
	return "http://" + listener.Addr().String()
}

func (tb *tab) observe(method string, params json.RawMessage) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch method {
	case "Network.requestWillBeSent":
		var event struct {
			Request struct{ URL string }
		}
		if json.Unmarshal(params, &event) == nil {
			tb.requested = append(tb.requested, event.Request.URL)
		}
	case "Log.entryAdded", "Runtime.exceptionThrown":
		tb.complaints = append(tb.complaints, method+" "+string(params))
	case "Runtime.consoleAPICalled":
		var event struct{ Type string }
		if json.Unmarshal(params, &event) == nil && (event.Type == "error" || event.Type == "assert") {
			tb.complaints = append(tb.complaints, method+" "+string(params))
		}
	}
}

// observed returns what was seen so far, violations of the policy included.
func (tb *tab) observed() (requested, left, complaints []string) {
	tb.t.Helper()
	var violations []string
	tb.evaluate("window.octostoreViolations", &violations)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	complaints = slices.Clone(tb.complaints)
	for _, violation := range violations {
		complaints = append(complaints, "securitypolicyviolation "+violation)
	}
	return slices.Clone(tb.requested), slices.Clone(tb.left), complaints
}

func (tb *tab) navigate(url string) {
	tb.t.Helper()
	var result struct{ ErrorText string }
	tb.must(tb.browser.call(tb.ctx, tb.session, "Page.navigate", map[string]any{"url": url}, &result))
	if result.ErrorText != "" {
		tb.t.Fatalf("%s: %s", url, result.ErrorText)
	}
}

// evaluate runs an expression in the page, waits for its promise if it is one, and reads
// the value into out, unless that is nil.
func (tb *tab) evaluate(expression string, out any) {
	tb.t.Helper()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	err := tb.browser.call(tb.ctx, tb.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "awaitPromise": true, "returnByValue": true,
	}, &result)
	if err != nil {
		tb.t.Fatalf("%v\nin %s", err, expression)
	}
	if result.ExceptionDetails != nil {
		tb.t.Fatalf("%s\nthrows %s", expression, result.ExceptionDetails)
	}
	if out != nil {
		tb.must(json.Unmarshal(result.Result.Value, out))
	}
}

// waitFor returns once condition holds in the page. The page looks again after every change of its
// document and with every frame, so that nothing is missed and nobody sleeps.
func (tb *tab) waitFor(condition string) {
	tb.t.Helper()
	tb.evaluate(fmt.Sprintf(`new Promise(done => {
		const look = () => { if (%s) { observer.disconnect(); clearInterval(timer); done(); } };
		const observer = new MutationObserver(look);
		observer.observe(document, { subtree: true, childList: true, attributes: true });
		const timer = setInterval(look, 50);
		look();
	})`, condition), nil)
}
