/// How a session answers those who ask for authentication, beside credentials.
public struct AuthenticationConfiguration: Sendable, Hashable {
    /// Whether the Kerberos tickets of the process are used for servers that offer Negotiate; false by default.
    ///
    /// With a valid ticket nobody is asked then. A program that loads for others must leave it off: they would come
    /// with its tickets.
    public var usesKerberosTickets = false

    /// The service that Kerberos tickets are asked for; `HTTP` by default.
    public var kerberosService = "HTTP"

    /// Makes the defaults.
    public init() {}
}
