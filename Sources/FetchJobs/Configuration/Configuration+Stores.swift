package import FetchEngine

extension Configuration {
    package struct Cookies: ConfigurationGroup {
        package enum Jar: String, Sendable, CaseIterable {
            /// The jar of the session.
            case session
            /// Nothing is kept, and nothing sent.
            case none
        }

        package var acceptPolicy: CookieAcceptPolicy?
        package var send: Bool?
        package var jar: Jar?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("acceptPolicy", \.acceptPolicy, .anyCase, \.httpCookieAcceptPolicy),
            ConfigurationMember("send", \.send, .bool, \.httpShouldSetCookies),
            ConfigurationMember(
                "jar", \.jar, .anyCase,
                get: { $0.httpCookieStorage == nil ? Jar.none : .session },
                set: { jar, engine in
                    if jar == .none { engine.httpCookieStorage = nil }
                }),
        ]
    }

    package struct Cache: ConfigurationGroup {
        package var requestCachePolicy: CachePolicy?
        package var storagePolicy: CachedResponse.StoragePolicy?
        package var audience: CachingConfiguration.Audience?
        package var cacheableStatuses: CachingConfiguration.CacheableStatuses?
        package var maximumEntryBytes: Int64?
        package var userInfo: [String: String]?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("requestCachePolicy", \.requestCachePolicy, .anyCase, \.requestCachePolicy),
            ConfigurationMember("storagePolicy", \.storagePolicy, .anyCase, \.caching.storagePolicy),
            ConfigurationMember("audience", \.audience, .anyCase, \.caching.audience),
            ConfigurationMember("cacheableStatuses", \.cacheableStatuses, .anyCase, \.caching.cacheableStatuses),
            ConfigurationMember(
                "maximumEntryBytes", \.maximumEntryBytes, .integer(0...(1 << 40)),
                optional: \.caching.maximumEntryBytes),
            ConfigurationMember("userInfo", \.userInfo, .texts(upTo: 32), \.caching.userInfo),
        ]

        package static let refused: KeyValuePairs = [
            "delegate":
                "cannot be had: `delegate.questions` says what is asked, and \"willCacheResponse\" is one of them"
        ]
    }
}
