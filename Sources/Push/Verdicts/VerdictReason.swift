/// The reason for a verdict: a small set of stable words, for a metric's label and for the ledger.
///
/// Words with capitals are those of a provider, the others are Bellhop's. A released word keeps its meaning.
package enum VerdictReason: String, CaseIterable, Hashable, Sendable {
    // The reasons of FCM.
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

    // The reasons of APNs that FCM does not share.
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

    // The reasons of Expo, first for a request, then for a message.
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

    /// The provider reports that the message itself is malformed.
    case invalidMessage = "invalid-message"
    /// The provider reports that the token is malformed.
    case invalidToken = "invalid-token"
    /// One device receives more messages than the provider allows.
    case deviceRate = "device-rate"
    /// The provider does not document the answer's status.
    case unexpectedStatus = "unexpected-status"
    /// The answer does not come from this provider: another system answers at this address.
    case unexpectedAnswer = "unexpected-answer"
    /// The message does not fit into the provider's limit, even when shortened.
    case payloadTooLarge = "payload-too-large"
    /// The provider cannot transport a message of this purpose.
    case unsupportedPurpose = "unsupported-purpose"
    /// The message was passed to the sender of another provider.
    case wrongProvider = "wrong-provider"

    // The reasons of browsers' push services and of invalid subscriptions, see `WebPushAnswer`.
    case subscriptionGone = "subscription-gone"
    /// The browser's keys are missing or invalid.
    case subscriptionUnusable = "subscription-unusable"
    /// The endpoint is not on an allowed host of push services.
    case endpointRefused = "endpoint-refused"
    case badRequest = "bad-request"
    case redirected
    case tooManyRequests = "too-many-requests"
    case vapidRefused = "vapid-refused"
    /// The browser has subscribed with another key.
    case vapidMismatch = "vapid-mismatch"
    /// The subscription names a key that is not configured.
    case unknownVAPIDKey = "unknown-vapid-key"

    // The reasons of mail servers, in Bellhop's words.
    /// The server closes the connection, or requires the client to close it.
    case serverClosing = "server-closing"
    case temporarilyRefused = "temporarily-refused"
    case mailboxFull = "mailbox-full"
    /// There is no such mailbox; the address can be removed.
    case mailboxUnknown = "mailbox-unknown"
    /// Not every mail server accepts the form of the address.
    case addressUnsupported = "address-unsupported"
    /// The server rejects the client as a whole.
    case serviceRefused = "service-refused"
    case authenticationRefused = "authentication-refused"
    /// The server offers no encryption.
    case encryptionMissing = "encryption-missing"
    case senderRefused = "sender-refused"
    case messageRefused = "message-refused"
    case refusedByPolicy = "refused-by-policy"

    // The reasons of the token endpoint, see `AccessTokenSource`.
    case tokenUnavailable = "token-unavailable"
    case tokenRefused = "token-refused"

    // The outcomes of the transfer.
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
