import Logging
import ServiceLifecycle
import UnixSignals

extension ServiceGroupConfiguration.ServiceConfiguration {
    /// A service that the group's log and errors call by its type.
    ///
    /// Without a name a service is described, at each start, with all that it holds.
    init(
        named service: any Service,
        successTerminationBehavior: TerminationBehavior = .cancelGroup,
        failureTerminationBehavior: TerminationBehavior = .cancelGroup
    ) {
        self.init(
            service: service, successTerminationBehavior: successTerminationBehavior,
            failureTerminationBehavior: failureTerminationBehavior, serviceName: "\(type(of: service))")
    }
}

extension ServiceGroup {
    /// A group of services that its log calls by their types; the first to start is the last to stop.
    ///
    /// - Parameter stopsAtSignals: SIGTERM and SIGINT have it stop gracefully.
    init(named services: [any Service], stopsAtSignals: Bool = false, logger: Logger) {
        var configuration = ServiceGroupConfiguration(
            services: services.map { ServiceGroupConfiguration.ServiceConfiguration(named: $0) }, logger: logger)
        if stopsAtSignals { configuration.gracefulShutdownSignals = [.sigterm, .sigint] }
        self.init(configuration: configuration)
    }
}
