import java.net.Authenticator;
import java.net.PasswordAuthentication;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** One GET by Java's HttpClient, which is told proxy password by its program alone: FetchAsUser URL. Prints the body. */
class FetchAsUser {
  public static void main(String[] args) throws Exception {
    String[] user = URI.create(System.getenv("HTTPS_PROXY")).getUserInfo().split(":", 2);
    var shown = new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return new PasswordAuthentication(user[0], user[1].toCharArray());
      }
    };
    var request = HttpRequest.newBuilder(URI.create(args[0])).build();
    var answer = HttpClient.newBuilder().authenticator(shown).build().send(request, BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new Exception("status " + answer.statusCode());
    System.out.print(answer.body());
  }
}
