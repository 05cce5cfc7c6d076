import FetchJobs

/// What can be called, in the order in which aria2 lists it.
enum Aria2Method: String, Sendable, CaseIterable {
    case addUri = "aria2.addUri"
    case addTorrent = "aria2.addTorrent"
    case getPeers = "aria2.getPeers"
    case addMetalink = "aria2.addMetalink"
    case remove = "aria2.remove"
    case pause = "aria2.pause"
    case forcePause = "aria2.forcePause"
    case pauseAll = "aria2.pauseAll"
    case forcePauseAll = "aria2.forcePauseAll"
    case unpause = "aria2.unpause"
    case unpauseAll = "aria2.unpauseAll"
    case forceRemove = "aria2.forceRemove"
    case changePosition = "aria2.changePosition"
    case tellStatus = "aria2.tellStatus"
    case getUris = "aria2.getUris"
    case getFiles = "aria2.getFiles"
    case getServers = "aria2.getServers"
    case tellActive = "aria2.tellActive"
    case tellWaiting = "aria2.tellWaiting"
    case tellStopped = "aria2.tellStopped"
    case getOption = "aria2.getOption"
    case changeUri = "aria2.changeUri"
    case changeOption = "aria2.changeOption"
    case getGlobalOption = "aria2.getGlobalOption"
    case changeGlobalOption = "aria2.changeGlobalOption"
    case purgeDownloadResult = "aria2.purgeDownloadResult"
    case removeDownloadResult = "aria2.removeDownloadResult"
    case getVersion = "aria2.getVersion"
    case getSessionInfo = "aria2.getSessionInfo"
    case shutdown = "aria2.shutdown"
    case forceShutdown = "aria2.forceShutdown"
    case getGlobalStat = "aria2.getGlobalStat"
    case saveSession = "aria2.saveSession"
    case listMethods = "system.listMethods"
    case listNotifications = "system.listNotifications"

    /// What it asks of a key.
    ///
    /// What is about one download looks at the bounds of the key when it has found it.
    var access: Access {
        switch self {
        case .addUri: Access(scope: .writeJobs, reach: .submission)
        case .remove, .forceRemove, .pause, .forcePause, .unpause, .changePosition, .changeOption, .changeUri,
            .removeDownloadResult:
            Access(scope: .writeJobs, reach: .own)
        case .pauseAll, .forcePauseAll, .unpauseAll, .purgeDownloadResult:
            Access(scope: .writeJobs, reach: .tenant)
        case .changeGlobalOption: Access(scope: .limits, reach: .tenant)
        case .tellActive, .tellWaiting, .tellStopped, .getGlobalStat, .getGlobalOption:
            Access(scope: .readJobs, reach: .tenant)
        case .addTorrent, .getPeers, .addMetalink, .tellStatus, .getUris, .getFiles, .getServers, .getOption,
            .getVersion, .getSessionInfo, .shutdown, .forceShutdown, .saveSession, .listMethods,
            .listNotifications:
            Access(scope: .readJobs, reach: .own)
        }
    }

    /// What the node has to do or to keep for it.
    var work: Route.Work? { self == .addUri ? .jobs : nil }

    /// Why it does nothing; nil for one that does something.
    var refusal: Aria2Failure? {
        switch self {
        case .addTorrent: .notSupported("BitTorrent")
        case .addMetalink: .notSupported("Metalink")
        case .shutdown, .forceShutdown: .notSupported(rawValue)
        default: nil
        }
    }

    /// The answer that everyone gets, with or without a key.
    var openAnswer: RawJSON? {
        switch self {
        case .listMethods:
            .array { writer in
                for method in Self.allCases where method.refusal == nil { writer.value(method.rawValue) }
                writer.value("system.multicall")
            }
        case .listNotifications:
            .array { writer in for notice in Aria2Watch.Notice.allCases { writer.value(notice.rawValue) } }
        default: nil
        }
    }
}
