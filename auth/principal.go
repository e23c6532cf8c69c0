package auth

// DefaultTenant is the tenant of a static token that names none, and the one in
// which the admin key acts unless the request names another.
const DefaultTenant = "default"

// adminName is the Name of the admin key's principal. A static user may have the
// same name; the Kind keeps the two apart.
const adminName = "admin"

// Kind says which sort of credential a principal came with. The zero value stands
// for none, so that a forgotten Kind never passes for a real one.
type Kind uint8

// The kinds of credentials.
const (
	// KindStatic is a token from STATIC_TOKENS or STATIC_TOKENS_FILE.
	KindStatic Kind = iota + 1
	// KindAdmin is the key from ADMIN_KEY.
	KindAdmin
)

// String returns the kind's word for logs and audit rows.
func (k Kind) String() string {
	switch k {
	case KindStatic:
		return "static"
	case KindAdmin:
		return "admin"
	default:
		return "none"
	}
}

// Principal is the authenticated caller of one request. It is a plain value, safe
// to log and to compare: two tokens of one user in one tenant never exist at the
// same time, so equal principals are the same caller.
type Principal struct {
	// Tenant is the customer whose names the caller sees. Never empty.
	Tenant string
	// Name identifies the caller inside the tenant. It is what the configuration
	// says, without a length limit and in its own spelling.
	Name string
	// Kind is the sort of credential that was shown.
	Kind Kind
	// Admin is true for the admin of every tenant. Static tokens never have it.
	Admin bool
}

// Admin returns the principal of the admin key as it acts in the given tenant. An
// empty tenant means DefaultTenant.
func Admin(tenant string) Principal {
	if tenant == "" {
		tenant = DefaultTenant
	}
	return Principal{Tenant: tenant, Name: adminName, Kind: KindAdmin, Admin: true}
}
