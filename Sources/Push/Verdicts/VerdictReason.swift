/// Why a verdict is what it is: few, stable words, fit for a metric's label and for the ledger.
///
/// Words with capitals are a provider's own, the others ours. A word once released keeps its meaning.
package enum VerdictReason: String, CaseIterable, Hashable, Sendable {
    // What FCM says.
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unauthenticated = "UNAUTHENTICATED"
    case permissionDenied = "PERMISSION_DENIED"
    case notFound = "NOT_FOUND"
    case unspecifiedError = "UNSPECIFIED_ERROR"

    // What APNs says, where it is not what FCM says, too.
    case badCollapseID = "BadCollapseId"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case invalidPushType = "InvalidPushType"
    case payloadEmpty = "PayloadEmpty"
    case missingDeviceToken = "MissingDeviceToken"
    case duplicateHeaders = "DuplicateHeaders"
    case badPath = "BadPath"
    case badDeviceToken = "BadDeviceToken"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case expiredToken = "ExpiredToken"
    case badTopic = "BadTopic"
    case missingTopic = "MissingTopic"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case forbidden = "Forbidden"
    case badEnvironmentKeyID = "BadEnvironmentKeyIdInToken"
    case unrelatedKeyID = "UnrelatedKeyIdInToken"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case methodNotAllowed = "MethodNotAllowed"
    case idleTimeout = "IdleTimeout"
    case shutdown = "Shutdown"

    // What Expo says of a request, then of a message.
    case requestRate = "TOO_MANY_REQUESTS"
    case notAuthorized = "UNAUTHORIZED"
    case deviceNotRegistered = "DeviceNotRegistered"
    case messageTooBig = "MessageTooBig"
    case messageRateExceeded = "MessageRateExceeded"
    case mismatchedSender = "MismatchSenderId"
    case invalidCredentials = "InvalidCredentials"
    case developerError = "DeveloperError"
    case providerError = "ProviderError"
    case expoError = "ExpoError"

    /// The provider calls the message itself malformed.
    case invalidMessage = "invalid-message"
    /// The provider calls the token malformed.
    case invalidToken = "invalid-token"
    /// One device gets more than the provider allows.
    case deviceRate = "device-rate"
    /// The answer's status fits none of the provider's documented ones.
    case unexpectedStatus = "unexpected-status"
    /// The answer is not one that this provider gives: something else answers at this address.
    case unexpectedAnswer = "unexpected-answer"
    /// The message does not fit into the provider's limit, even shortened.
    case payloadTooLarge = "payload-too-large"
    /// The provider cannot carry a message of this purpose.
    case unsupportedPurpose = "unsupported-purpose"
    /// The message was handed to a sender of another provider.
    case wrongProvider = "wrong-provider"

    // What push services of browsers say, and what is wrong with subscriptions, see `WebPushAnswer`.
    case subscriptionGone = "subscription-gone"
    /// The browser's keys are missing or no keys.
    case subscriptionUnusable = "subscription-unusable"
    /// The endpoint is no place that a push service may be at.
    case endpointRefused = "endpoint-refused"
    case badRequest = "bad-request"
    case redirected
    case tooManyRequests = "too-many-requests"
    case vapidRefused = "vapid-refused"
    /// The browser has subscribed with another key.
    case vapidMismatch = "vapid-mismatch"
    /// The subscription names a key that is not configured.
    case unknownVAPIDKey = "unknown-vapid-key"

    // What mail servers say, in our words.
    /// The server leaves the connection, or wants us to.
    case serverClosing = "server-closing"
    case temporarilyRefused = "temporarily-refused"
    case mailboxFull = "mailbox-full"
    /// There is no such mailbox: the address can be forgotten.
    case mailboxUnknown = "mailbox-unknown"
    /// The address is one that not every mail server takes.
    case addressUnsupported = "address-unsupported"
    /// The server does not serve us at all.
    case serviceRefused = "service-refused"
    case authenticationRefused = "authentication-refused"
    /// The server offers no encryption.
    case encryptionMissing = "encryption-missing"
    case senderRefused = "sender-refused"
    case messageRefused = "message-refused"
    case refusedByPolicy = "refused-by-policy"

    // What the token endpoint says, see `AccessTokenSource`.
    case tokenUnavailable = "token-unavailable"
    case tokenRefused = "token-refused"

    // What became of the transfer.
    case timeout
    case connect
    case nameLookup = "name-lookup"
    case tls
    case certificate
    case connectionLost = "connection-lost"
    case incompleteAnswer = "incomplete-answer"
    case protocolViolation = "protocol-violation"
    case addressRefused = "address-refused"
    case invalidRequest = "invalid-request"
    case invalidOptions = "invalid-options"
    case cancelled
    case closed
    case library
}
