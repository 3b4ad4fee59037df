import Commands
import Cryptography
import Foundation
import ServiceRuntime

StandardDescriptor.holdAll()
OpenSSL.lastUntilTheEnd()
let ending = await Tool.run(Array(CommandLine.arguments.dropFirst()))
exit(ending.rawValue)
