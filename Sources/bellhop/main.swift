import Commands
import Foundation
import ServiceRuntime

StandardDescriptor.holdAll()
let ending = await Tool.run(Array(CommandLine.arguments.dropFirst()))
exit(ending.rawValue)
