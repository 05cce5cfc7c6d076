package import FetchJobs

/// Who may sign in to the dashboard at an identity provider, and as what (OpenID Connect Core 1.0).
///
/// It holds a secret, and never prints itself.
package struct OpenIDPolicy: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The provider, as its tokens and its configuration name it.
    package var issuer: String
    /// What the provider calls this service.
    package var clientID: String
    /// What proves this service to the provider; nil for a public client, which the code verifier alone protects.
    package var clientSecret: String?
    /// Where people reach the dashboard: scheme, host and port.
    package var dashboard: String
    /// What is asked for, with spaces between the words; `openid` is one of them.
    package var scopes = "openid"
    /// What people call the provider.
    package var name: String
    package var owner: TokenPolicy.Owner
    /// The claim of the ID token that says what somebody is: a text, or a list of texts.
    package var roleClaim = "groups"
    /// The values of that claim that give a role; the highest counts.
    package var values: [Role: Set<String>]

    package init(
        issuer: String, clientID: String, dashboard: String, name: String, owner: TokenPolicy.Owner,
        values: [Role: Set<String>]
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.dashboard = dashboard
        self.name = name
        self.owner = owner
        self.values = values
    }

    /// Where the provider sends people back to.
    var redirectURI: String { dashboard + DashboardRoutes.callbackPath }

    /// The role of somebody with these claims; nil for none.
    func role(_ claims: [JSONMember]) -> Role? {
        // An address that the provider has not verified is what its user has typed (OpenID Connect Core 1.0 §5.7).
        guard roleClaim != "email" || claims["email_verified"] == .bool(true) else { return nil }
        // Compared as bytes: texts that only look the same are other groups.
        let given = Set((claims.texts(roleClaim) ?? []).map { Array($0.utf8) })
        return Role.allCases.last { role in values[role, default: []].contains { given.contains(Array($0.utf8)) } }
    }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
}
