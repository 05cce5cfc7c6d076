import CEpoll
import Glibc

/// Is called, on the loop's thread, when a descriptor it watches is ready.
package protocol DescriptorHandler: AnyObject {
    /// The descriptor can be read or written, or has failed.
    func descriptor(_ descriptor: Int32, isReady readiness: Readiness)
}

/// The events that a descriptor is watched for, or has.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// The other end is gone or the descriptor is broken; reported whether asked for or not.
    package static let failed = Readiness(rawValue: 4)

    init(epollEvents: UInt32) {
        var readiness: Readiness = []
        if epollEvents & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if epollEvents & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if epollEvents & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.failed) }
        self = readiness
    }

    var epollEvents: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
    }
}
