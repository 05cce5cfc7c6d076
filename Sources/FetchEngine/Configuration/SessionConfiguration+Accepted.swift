// Settings that have an effect on Apple's systems, and none on a server.
extension SessionConfiguration {
    /// Whether cellular networks may be used; true.
    ///
    /// Without effect: a server has no such class of networks.
    ///
    /// ``NetworkConfiguration/egress`` names a way out.
    public var allowsCellularAccess: Bool {
        get { accepted.allowsCellularAccess }
        set { accepted.allowsCellularAccess = newValue }
    }

    /// Whether networks that cost money may be used; true.
    ///
    /// Without effect.
    public var allowsExpensiveNetworkAccess: Bool {
        get { accepted.allowsExpensiveNetworkAccess }
        set { accepted.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether networks in a mode that saves data may be used; true.
    ///
    /// Without effect.
    public var allowsConstrainedNetworkAccess: Bool {
        get { accepted.allowsConstrainedNetworkAccess }
        set { accepted.allowsConstrainedNetworkAccess = newValue }
    }

    /// Whether networks with very little capacity, such as satellites, may be used; true.
    ///
    /// Without effect.
    public var allowsUltraConstrainedNetworkAccess: Bool {
        get { accepted.allowsUltraConstrainedNetworkAccess }
        set { accepted.allowsUltraConstrainedNetworkAccess = newValue }
    }

    /// The purpose of the traffic.
    ///
    /// Without effect; ``SessionTask/priority`` has one.
    public var networkServiceType: NetworkServiceType {
        get { accepted.networkServiceType }
        set { accepted.networkServiceType = newValue }
    }

    /// How several paths share a connection.
    ///
    /// Without effect: there is one path.
    public var multipathServiceType: MultipathServiceType {
        get { accepted.multipathServiceType }
        set { accepted.multipathServiceType = newValue }
    }

    /// Whether the system may choose when to transfer; false.
    ///
    /// Without effect: the program starts its tasks.
    public var isDiscretionary: Bool {
        get { accepted.isDiscretionary }
        set { accepted.isDiscretionary = newValue }
    }

    /// Whether the program is started when background transfers are done; false.
    ///
    /// Without effect: nothing starts it.
    public var sessionSendsLaunchEvents: Bool {
        get { accepted.sessionSendsLaunchEvents }
        set { accepted.sessionSendsLaunchEvents = newValue }
    }

    /// The container shared with an extension.
    ///
    /// Without effect: files are where ``DownloadOptions`` says.
    public var sharedContainerIdentifier: String? {
        get { accepted.sharedContainerIdentifier }
        set { accepted.sharedContainerIdentifier = newValue }
    }

    /// Whether connections stay when the program is in the background; false.
    ///
    /// Without effect: they always stay.
    public var shouldUseExtendedBackgroundIdleMode: Bool {
        get { accepted.shouldUseExtendedBackgroundIdleMode }
        set { accepted.shouldUseExtendedBackgroundIdleMode = newValue }
    }
}
