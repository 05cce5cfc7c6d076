/// How a session answers challenges, besides its credentials.
public struct AuthenticationConfiguration: Sendable, Hashable {
    /// Whether the Kerberos tickets of the process are used for servers that offer Negotiate; false by default.
    ///
    /// With a valid ticket, no delegate is asked. A program that loads for others must leave it off, because their loads
    /// would use its tickets.
    public var usesKerberosTickets = false

    /// The service that Kerberos tickets are asked for; `HTTP` by default.
    public var kerberosService = "HTTP"

    /// Whether a server that Negotiate convinces gets tickets with which it acts for the user elsewhere; false by default.
    ///
    /// They are as good as the user's own (RFC 4121 §4.1.1). A server that the realm does not trust with them gets them
    /// nevertheless, and a proxy never does. Where tickets cannot be forwarded, authentication goes on without.
    public var delegatesKerberosTickets = false

    /// The realms whose principals may be used; nil for all that the process's `krb5.conf` and DNS lead to.
    ///
    /// Where the target policy restricts loads, nil means no realm, because the policy does not apply to the connections
    /// to key distribution centres.
    package var kerberosRealms: KerberosRealms?

    /// Schemes of the program's own; none by default.
    ///
    /// They are preferred to the built-in ones, the first one most; one with the name of a built-in scheme replaces it.
    public var schemes: [any AuthenticationScheme] {
        get { schemeList.own }
        set { schemeList = SchemeList(newValue) }
    }

    /// All that answer with one field.
    var schemeList = SchemeList()

    /// Makes the defaults.
    public init() {}
}
